#include "sim/cluster/cluster_spec.hpp"
#include "sim/cluster/gpu_catalogue.hpp"
#include "sim/io/json.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
ClusterSpec read(const std::string& text, Problems& problems) {
  const Json json = *parse_json(text, "c.json");
  return read_cluster(ObjectReader(json, "c.json", "/cluster", problems));
}
const std::string kNode =
    R"("gpu": "h100-sxm5-80g", "gpu_link_GBps": 450, "nics": 8, "nic_Gbps": 400)";
}  // namespace

TEST_CASE("400 gigabits on 8 NICs are 50 gigabytes each", "[cluster]") {
  Problems problems;
  const ClusterSpec cluster = read("{" + kNode + R"(, "nodes": 4})", problems);
  INFO(problems.text());
  REQUIRE(problems.empty());
  REQUIRE(cluster.nodes() == 4);
  REQUIRE(cluster.gpus() == 32);
  REQUIRE(cluster.node(3).nic_bandwidth == BytesPerSecond(50e9));
  REQUIRE(cluster.node(0).gpu.peak(Precision::bf16).value == 989e12);
  REQUIRE(cluster.node(0).gpu.memory == Bytes(std::int64_t{80} << 30));
}

TEST_CASE("groups number their nodes one after the other", "[cluster]") {
  Problems problems;
  const ClusterSpec cluster = read(
      "{" + kNode +
          R"(, "groups": [{"nodes": 2}, {"nodes": 3, "gpu": "a100-sxm4-80g", "gpu_link_GBps": 300}]})",
      problems);
  INFO(problems.text());
  REQUIRE(problems.empty());
  REQUIRE_FALSE(cluster.is_uniform());
  REQUIRE(cluster.nodes() == 5);
  REQUIRE(cluster.node(1).gpu.name == "h100-sxm5-80g");
  REQUIRE(cluster.node(2).gpu.name == "a100-sxm4-80g");
  REQUIRE(cluster.node(2).nics == 8);  // not overridden
}

TEST_CASE("a torus without nodes takes the product of its shape", "[cluster]") {
  Problems problems;
  const ClusterSpec cluster = read(
      R"({"gpu": "tpu-v4", "gpus_per_node": 1, "nics": 1, "nic_GBps": 300, "fabric": {"kind": "torus", "transport": "ici", "torus_shape": [4, 4, 8]}})",
      problems);
  INFO(problems.text());
  REQUIRE(problems.empty());
  REQUIRE(cluster.nodes() == 128);
}

TEST_CASE("an unknown accelerator names the nearest known one", "[cluster]") {
  Problems problems;
  read(R"({"gpu": "h100-sxm5-80gb", "gpu_link_GBps": 450, "nics": 8, "nic_Gbps": 400})", problems);
  REQUIRE(problems.size() == 1);
  REQUIRE(problems.list()[0].place == "/cluster/gpu");
  REQUIRE(problems.list()[0].hint == "did you mean \"h100-sxm5-80g\"?");
}

TEST_CASE("several nodes without NICs are a problem", "[cluster]") {
  Problems problems;
  read(R"({"gpu": "l40s", "gpus_per_node": 1, "nics": 0, "nodes": 2})", problems);
  REQUIRE(problems.size() == 1);
  REQUIRE(problems.list()[0].place == "/cluster/nics");
}

TEST_CASE("a shape that does not hold the nodes is a problem", "[cluster]") {
  Problems problems;
  read(
      R"({"gpu": "tpu-v4", "gpus_per_node": 1, "nodes": 9, "nics": 1, "nic_GBps": 300, "fabric": {"kind": "torus", "torus_shape": [2, 4]}})",
      problems);
  REQUIRE(problems.size() == 1);
  REQUIRE(problems.list()[0].message == "holds 8 nodes, but the cluster has 9");
}

TEST_CASE("bits and bytes for one NIC are a problem", "[cluster]") {
  Problems problems;
  read("{" + kNode + R"(, "nic_GBps": 50})", problems);
  REQUIRE(problems.size() == 1);
  REQUIRE(problems.list()[0].place == "/cluster/nic_GBps");
}

TEST_CASE("an accelerator round-trips through its own JSON", "[cluster]") {
  for (const GpuSpec& gpu : gpu_catalogue()) {
    const Json json{{"gpu", json_of(gpu)}};
    Problems problems;
    ObjectReader reader(json, "g.json", "", problems);
    const GpuSpec back = read_gpu(reader, "gpu");
    INFO(gpu.name << " " << problems.text());
    REQUIRE(problems.empty());
    REQUIRE(back.name == gpu.name);
    REQUIRE(back.memory == gpu.memory);
    for (std::size_t p = 0; p < 6; ++p) REQUIRE(back.peak_flops[p] == Approx(gpu.peak_flops[p]));
  }
}

TEST_CASE("a base accelerator is changed key by key", "[cluster]") {
  const Json json = *parse_json(
      R"({"gpu": {"base": "h100-sxm5-80g", "memory_GiB": 96, "clock_scale": 0.5}})", "g.json");
  Problems problems;
  ObjectReader reader(json, "g.json", "", problems);
  const GpuSpec gpu = read_gpu(reader, "gpu");
  REQUIRE(problems.empty());
  REQUIRE(gpu.memory == Bytes(std::int64_t{96} << 30));
  REQUIRE(gpu.peak(Precision::bf16).value == 989e12 / 2);
}
