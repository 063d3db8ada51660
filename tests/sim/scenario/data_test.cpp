// The "data" section: presets, defaults by model, and one test per thing that can be wrong with it.
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
Result<Scenario> tried(const std::string& model, const std::string& data) {
  return scenario_of(
      Json::parse(R"({"cluster": {"preset": "dgx-a100-ib200", "nodes": 2}, "model": {"preset": ")" +
                  model + R"("}, "data": )" + data + "}"),
      "test.json");
}
DataSpec data_of(const std::string& model, const std::string& data) {
  const Scenario s = tried(model, data).value_or_throw();
  REQUIRE(s.data);
  return *s.data;
}
/// The only problem of a section.
Problem problem_of(const std::string& data, const std::string& model = "resnet-50") {
  const Result<Scenario> result = tried(model, data);
  REQUIRE_FALSE(result);
  INFO(result.problems().text());
  REQUIRE(result.problems().size() == 1);
  return result.problems().list().front();
}
const std::string kNvme = R"("storage": {"preset": "nvme-local"})";
}  // namespace

TEST_CASE("a scenario without data has no loaders", "[scenario]") {
  const Scenario s =
      scenario_of(
          Json::parse(
              R"({"cluster": {"preset": "dgx-a100-ib200"}, "model": {"preset": "resnet-50"}})"),
          "test.json")
          .value_or_throw();
  CHECK_FALSE(s.data);
}

TEST_CASE("images are JPEG files and text is tokens unless told otherwise", "[scenario]") {
  const DataSpec images = data_of("resnet-50", "{" + kNvme + "}");
  CHECK(images.content == DataContent::jpeg);
  CHECK(images.format == DataFormat::files);
  CHECK(images.decoded_bytes == 224 * 224 * 3);
  CHECK(images.decode.s_per_sample == Approx(1.0 / 577));
  CHECK(images.prefetch == 2 * images.workers);
  // gpt2's 50257 tokens fit two bytes: 1024 x 2 stored, 1024 x 8 in the tensor
  const DataSpec text = data_of("gpt2-small", "{" + kNvme + "}");
  CHECK(text.content == DataContent::tokens);
  CHECK(text.sample_bytes == 2 * 1024);
  CHECK(text.decoded_bytes == 8 * 1024);
  CHECK(data_of("llama3-8b", "{" + kNvme + "}").sample_bytes == 4 * 4096);  // 128256 do not
}

TEST_CASE("units of the section become SI", "[scenario]") {
  const DataSpec d = data_of("resnet-50", R"({
    "storage": {"kind": "object-store", "node_GBps": 2, "stream_GBps": 0.1, "shared_GBps": 50,
                "latency_us": 2000, "node_requests_per_s": 7, "shared_requests_per_s": 9,
                "node_in_flight": 5, "request_KiB": 4, "requests_per_open": 3},
    "decode": {"ms_per_sample": 5, "ns_per_byte": 2}, "workers": 3, "in_flight": 4, "prefetch": 7,
    "epoch": 2, "dataset_samples": 1000, "sharding": "fixed",
    "cache": {"GiB": 2, "policy": "pinned", "GBps": 10},
    "loader_nodes": {"count": 2, "cores": 30, "nic_Gbps": 80}})");
  CHECK(d.storage.node_rate == 2e9);
  CHECK(d.storage.stream_rate == Approx(1e8));
  CHECK(d.storage.shared_rate == Approx(5e10));
  CHECK(d.storage.latency_s == Approx(0.002));
  CHECK(d.storage.node_requests_per_s == 7);
  CHECK(d.storage.shared_requests_per_s == 9);
  CHECK(d.storage.node_in_flight == 5);
  CHECK(d.storage.request_bytes == 4096);
  CHECK(d.storage.requests_per_open == 3);
  CHECK(d.decode.s_per_sample == Approx(0.005));
  CHECK(d.decode.s_per_byte == Approx(2e-9));
  CHECK(d.cache.bytes == 2.0 * 1073741824);
  CHECK(d.cache.rate == 1e10);
  CHECK(d.loader_nodes.nic_rate == Approx(1e10));
  CHECK(d.sharding == EpochSharding::fixed);
}

TEST_CASE("what a scenario writes stands above its storage preset", "[scenario]") {
  const DataSpec d = data_of(
      "resnet-50", R"({"storage": {"preset": "s3-like", "latency_us": 50000}, "workers": 4})");
  CHECK(d.storage.latency_s == Approx(0.05));
  CHECK(d.storage.shared_requests_per_s == 5500);
  CHECK(d.storage.preset == "s3-like");
}

TEST_CASE("every storage preset is read and names a source for each of its figures", "[scenario]") {
  for (const std::string& name : preset_names("storage")) {
    INFO(name);
    CHECK(data_of("resnet-50", R"({"storage": {"preset": ")" + name + R"("}})").storage.latency_s >
          0);
    const Json file = read_json_file(preset_path("storage", name)).value_or_throw();
    CHECK_FALSE(file["description"].get<std::string>().empty());
    for (const auto& [key, value] : file.items())
      if (key != "description" && key != "sources" && key != "kind") {
        INFO(key);
        CHECK(file["sources"].contains(key));
      }
  }
}

TEST_CASE("a missing or unknown storage is one problem", "[scenario]") {
  CHECK(problem_of("{}").place == "/data/storage");
  const Problem unknown = problem_of(R"({"storage": {"preset": "s3-lik"}})");
  CHECK(unknown.place == "/data/storage/preset");
  CHECK(unknown.hint == "did you mean \"s3-like\"?");
  CHECK(problem_of(R"({"storage": 3})").place == "/data/storage");
  CHECK(problem_of("[]").message == "found [], expected an object");
  CHECK(problem_of(R"({"storage": {"kind": "nvme"}})").message == "states no limit");
  CHECK(problem_of(R"({"storage": {"kind": "nvme", "latency_us": 9, "shared_GBps": 5}})").place ==
        "/data/storage/shared_GBps");
}

TEST_CASE("a typing error in the section names the nearest key", "[scenario]") {
  const Problem p = problem_of("{" + kNvme + R"(, "worker": 4})");
  CHECK(p.place == "/data/worker");
  CHECK(p.hint.find("workers") != std::string::npos);
}

TEST_CASE("keys without effect are refused with what they need", "[scenario]") {
  const auto place = [](const std::string& more) {
    return problem_of("{" + kNvme + ", " + more + "}").place;
  };
  CHECK(place(R"("epoch": 2)") == "/data/epoch");
  CHECK(place(R"("dataset_samples": 100)") == "/data/dataset_samples");
  CHECK(place(R"("shuffle_buffer": 100)") == "/data/shuffle_buffer");
  CHECK(place(R"("samples_per_file": 10)") == "/data/samples_per_file");
  CHECK(place(R"("workers": 0, "prefetch": 3)") == "/data/prefetch");
  CHECK(place(R"("cores": 8, "loader_nodes": {"count": 1, "cores": 8, "nic_Gbps": 100})") ==
        "/data/cores");
  CHECK(place(R"("cache": {"GiB": 10})") == "/data/dataset_samples");  // its size is asked for
}

TEST_CASE("numbers out of range are refused", "[scenario]") {
  for (const char* key : {R"("workers": -1)", R"("prefetch": 0)", R"("in_flight": 0)",
                          R"("cores": 0)", R"("sample_B": 0)", R"("read_amplification": 0.5)",
                          R"("shuffle": "perfect")", R"("decode": {"ms_per_sample": -1})"}) {
    INFO(key);
    CHECK_FALSE(tried("resnet-50", "{" + kNvme + ", " + key + "}"));
  }
}

TEST_CASE("a bare collective has nothing to load", "[scenario]") {
  const Result<Scenario> s = scenario_of(
      Json::parse(R"({"cluster": {"preset": "dgx-a100-ib200"}, "collective": {"operation":
                    "all_reduce"}, "data": {"storage": {"preset": "nfs"}}})"),
      "test.json");
  REQUIRE_FALSE(s);
  CHECK(s.problems().list().front().place == "/data");
}
