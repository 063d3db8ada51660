#pragma once
#include <filesystem>
#include <string>

#include "sim/io/json.hpp"
#include "sim/workload/memory_model.hpp"
#include "sim/workload/model_work.hpp"
#include "tests/support/test.hpp"

namespace stepcast::test {
inline ModelSpec preset(const std::string& name, const char* patch = "{}") {
  Json json = read_json_file(std::string(stepcast::test::source_dir()) + "/scenarios/models/" +
                             name + ".json")
                  .value_or_throw();
  merge_json(json, Json::parse(patch));
  Problems problems;
  ModelSpec model = read_model(ObjectReader(json, name, "/model", problems));
  INFO(problems.text());
  REQUIRE(problems.empty());
  return model;
}
inline TrainingSpec training(const char* text) {
  const Json json = Json::parse(text);
  Problems problems;
  const TrainingSpec spec = read_training(ObjectReader(json, "t.json", "/training", problems));
  INFO(problems.text());
  REQUIRE(problems.empty());
  return spec;
}
inline ParallelLayout layout(const char* text) {
  const Json json = Json::parse(text);
  Problems problems;
  ParallelLayout spec = read_layout(ObjectReader(json, "l.json", "/parallel", problems));
  INFO(problems.text());
  REQUIRE(problems.empty());
  if (spec.dp == 0) spec.dp = 1;
  return spec;
}
inline std::string faults(const ModelSpec& model, const TrainingSpec& t, const ParallelLayout& l,
                          int world = 0) {
  Problems problems;
  check_layout(l, model, t, world, "s.json", problems);
  return problems.text();
}
inline const LayerWork& kind(const ModelWork& work, const std::string& name) {
  for (const LayerWork& layer : work.kinds)
    if (layer.name == name) return layer;
  FAIL("no layer kind " << name);
  return work.kinds.front();
}
inline double flops(const std::vector<Op>& ops) {
  double sum = 0;
  for (const Op& op : ops) sum += op.flops.value;
  return sum;
}
inline int collectives(const std::vector<Op>& ops, Collective collective) {
  int count = 0;
  for (const Op& op : ops)
    if (op.is_collective() && std::get<CollectiveShape>(op.shape).collective == collective) ++count;
  return count;
}
}  // namespace stepcast::test
