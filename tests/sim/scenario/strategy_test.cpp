#include "sim/io/object_reader.hpp"
#include "sim/scenario/layers.hpp"
#include "sim/scenario/parts.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
StrategySpec preset(const std::string& name, int dp, std::int64_t element_bytes,
                    Problems& problems) {
  Json content = read_preset("strategies", name, "test", "/strategy/preset").value_or_throw();
  content.erase("defaults");
  return read_strategy(ObjectReader(content, "test", "/strategy", problems), dp, element_bytes);
}
}  // namespace

TEST_CASE("every key of every strategy preset is known and cites where it comes from",
          "[scenario]") {
  const auto names = preset_names("strategies");
  REQUIRE(names.size() >= 13);
  for (const std::string& name : names) {
    INFO(name);
    Problems problems;
    preset(name, 8, 4, problems);
    CHECK(problems.text() == "");
    const Json raw = read_json_file(preset_path("strategies", name)).value_or_throw();
    CHECK(raw.at("description").get<std::string>().size() > 20);
    for (const auto& [key, value] : raw.items()) {
      if (key == "description" || key == "sources") continue;
      if (key != "defaults") {
        INFO(key);
        CHECK(raw["sources"].contains(key));
        continue;
      }
      for (const auto& [section, keys] : value.items())
        for (const auto& [inner, ignored] : keys.items()) {
          INFO(section << "." << inner);
          CHECK(raw["sources"].contains("defaults." + section + "." + inner));
        }
    }
  }
}

TEST_CASE("PyTorch DDP fills a first bucket of 1 MiB and then buckets of 25 MiB", "[scenario]") {
  Problems problems;
  const StrategySpec ddp = preset("pytorch-ddp", 64, 4, problems);
  CHECK(ddp.bucket_bytes == Bytes(25 << 20));
  CHECK(ddp.first_bucket_bytes == Bytes(1 << 20));
}

TEST_CASE("Megatron's bucket grows with the data-parallel size", "[scenario]") {
  Problems problems;
  // max(40e6, 1e6 * dp) elements of 4 bytes: dp 8 -> 40e6 * 4 = 160 MB; dp 64 -> 64e6 * 4 = 256 MB
  CHECK(preset("megatron", 8, 4, problems).bucket_bytes == Bytes(160'000'000));
  CHECK(preset("megatron", 64, 4, problems).bucket_bytes == Bytes(256'000'000));
}

TEST_CASE("an unknown strategy names the nearest one", "[scenario]") {
  const auto result = read_preset("strategies", "megatorn", "job.json", "/strategy/preset");
  REQUIRE_FALSE(result);
  CHECK(result.problems().text().find("did you mean \"megatron\"?") != std::string::npos);
}

TEST_CASE("what a framework cannot train is refused and says so", "[scenario]") {
  const auto problems_of = [](const char* strategy, int nodes, int tp) {
    Json json = Json::parse(
        R"({"model": {"preset": "gpt3-125m"}, "cluster": {"preset": "dgx-h100-ib400"}})");
    json["strategy"] = {{"preset", strategy}};
    json["cluster"]["nodes"] = nodes;
    json["parallel"]["tp"] = tp;
    const auto s = scenario_of(json, "test.json");
    return s ? std::string() : s.problems().text();
  };
  CHECK(problems_of("tf-mirrored", 1, 1) == "");
  CHECK(problems_of("tf-multiworker", 2, 1) == "");
  CHECK(problems_of("tf-mirrored", 2, 1)
            .find("/strategy/preset: tf-mirrored trains on one node; the cluster has 2") !=
        std::string::npos);
  CHECK(problems_of("horovod", 2, 4)
            .find("/strategy/preset: horovod holds the whole model on every GPU; the layout "
                  "is tp 4") != std::string::npos);
  CHECK(problems_of("megatron", 2, 4) == "");
}

TEST_CASE("a compression key that its scheme does not use is refused", "[scenario]") {
  Problems problems;
  const Json content = Json::parse(R"({"scheme": "powersgd", "rank": 8, "ratio": 0.1})");
  const CompressionSpec c =
      read_compression(ObjectReader(content, "job.json", "/compression", problems));
  CHECK(c.rank == 8);
  CHECK(problems.text() ==
        "job.json /compression/ratio: has no effect with scheme powersgd; topk, randomk and dgc "
        "use it");
}

TEST_CASE("a collective sweep steps from the least to the greatest size by its factor",
          "[scenario]") {
  Problems problems;
  const Json content =
      Json::parse(R"({"operation": "all_gather", "min_B": 1024, "max_B": 70000, "factor": 4})");
  const CollectiveSweep sweep =
      read_collective_sweep(ObjectReader(content, "job.json", "/collective", problems), 8);
  CHECK(problems.text() == "");
  CHECK(sweep.sizes == std::vector<Bytes>{Bytes(1024), Bytes(4096), Bytes(16384), Bytes(65536)});
}
