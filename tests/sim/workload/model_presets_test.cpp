#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("presets have the parameter counts that their publications state", "[model]") {
  struct Row {
    const char* name;
    double millions;
    double tolerance;
  };
  // Counts published with the weights, in millions; tolerance is half of the last digit printed.
  const Row row =
      GENERATE(values<Row>({{"llama2-7b", 6738.4, 0.001},     {"llama2-13b", 13015.9, 0.001},
                            {"llama2-70b", 68976.6, 0.001},   {"llama3-8b", 8030.3, 0.001},
                            {"llama3-70b", 70553.7, 0.001},   {"llama3-405b", 405853.4, 0.001},
                            {"mistral-7b", 7241.7, 0.001},    {"gpt2-small", 124.4, 0.001},
                            {"gpt2-xl", 1557.6, 0.001},       {"gpt3-175b", 174.6e3, 0.005},
                            {"mt-nlg-530b", 529.6e3, 0.005},  {"megatron-1t", 1008e3, 0.005},
                            {"bloom-176b", 176247, 0.001},    {"palm-8b", 8630, 0.01},
                            {"palm-540b", 540350, 0.01},      {"turing-nlg-17b", 17.2e3, 0.02},
                            {"nemotron4-15b", 15.6e3, 0.01},  {"nemotron4-340b", 341e3, 0.005},
                            {"mixtral-8x7b", 46702.8, 0.001}, {"mixtral-8x22b", 140.6e3, 0.002},
                            {"grok-1", 314e3, 0.01},          {"deepseek-v2", 235.7e3, 0.002},
                            {"deepseek-v3", 671e3, 0.001},    {"bert-base", 110, 0.01},
                            {"bert-large", 336, 0.005},       {"mpt-125m", 124, 0.01},
                            {"mpt-7b", 6650, 0.002},          {"mpt-30b", 29.96e3, 0.002},
                            {"mpt-70b", 64.86e3, 0.002}}));
  INFO(row.name);
  REQUIRE(static_cast<double>(parameter_count(preset(row.name))) / 1e6 ==
          Approx(row.millions).epsilon(row.tolerance));
}

TEST_CASE("every preset file reads without a problem and names its source", "[model]") {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(stepcast::test::source_dir() + "/scenarios/models")) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    INFO(name);
    REQUIRE(parameter_count(preset(name)) > 0);
    REQUIRE_FALSE(read_json_file(entry.path().string())->at("source").get<std::string>().empty());
    ++count;
  }
  REQUIRE(count >= 40);
}

TEST_CASE("a model's problems are reported together", "[model]") {
  const Json json = Json::parse(
      R"({"kind": "transformer", "layers": 2, "hidden": 100, "heads": 8, "kv_heads": 3, "vocab": 1000, "hiden": 1})");
  Problems problems;
  read_model(ObjectReader(json, "m.json", "/model", problems));
  REQUIRE(problems.text() ==
          "m.json /model/heads: 8 does not divide hidden (100); state head_dim where they are "
          "independent\n"
          "m.json /model/kv_heads: 3 does not divide heads (8)\n"
          "m.json /model/hiden: is not a known key; did you mean \"hidden\"?");
}

TEST_CASE("a model or a micro-batch too large to count is refused", "[model]") {
  const Json json =
      Json::parse(R"({"layers": 60000, "hidden": 16000000, "heads": 1000, "vocab": 1000})");
  Problems problems;
  read_model(ObjectReader(json, "m.json", "/model", problems));
  // 4 C^2 + 3 C * 4C = 16 C^2 per block: 60000 * 16 * 2.56e14 = 2.5e20.
  REQUIRE(problems.text() == "m.json /model: describes about 2.5e+20 parameters, more than 1e+15");
  REQUIRE(
      faults(
          preset("llama3-8b"),
          training(
              R"({"global_batch": 16000000, "micro_batch": 16000000, "sequence_length": 67000000})"),
          layout("{}"))
          .find("s.json /training/micro_batch: 16000000 with sequence_length 67000000 makes one "
                "layer hold about") == 0);
}
