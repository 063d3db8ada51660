#include "tests/fidelity/jobs/base_job.hpp"

#include "sim/io/json.hpp"

namespace stepcast::test {
namespace {
constexpr const char* kBase = R"({
  "stepcast": 1,
  "name": "base job",
  "model": { "layers": 8, "hidden": 2048, "heads": 16, "vocab": 32768 },
  "training": { "global_batch": 32, "micro_batch": 1, "sequence_length": 2048, "fusion": "fused" },
  "strategy": { "preset": "pytorch-ddp", "host": "none" },
  "cluster": { "preset": "dgx-h100-ib400", "nodes": 2 }
})";
}  // namespace

Settings operator+(Settings base, const Settings& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

Result<Scenario> try_job(const Settings& settings) {
  Json document = parse_json(kBase, "base job").value_or_throw();
  for (const std::string& setting : settings)
    if (const auto applied = apply_setting(document, setting); !applied) return applied.problems();
  return scenario_of(std::move(document), "base job");
}

Scenario job(const Settings& settings) { return try_job(settings).value_or_throw(); }

Settings mixture() {
  return {"/model/kind=moe", "/model/ffn=4096", "/model/gated=true",
          R"(/model/moe={"experts": 8, "top_k": 2, "expert_ffn": 4096})"};
}

Forecast forecast(const Scenario& scenario, EngineKind engine) {
  SimulateOptions options;
  options.engine = engine;
  return simulate(scenario, profile_of(scenario).value_or_throw(), options);
}
}  // namespace stepcast::test
