#pragma once
#include <string>
#include <vector>

#include "sim/engine/simulate.hpp"

/// One small job that the acceptance suites vary, key by key, the way a user does: JSON under
/// `--set`. What they check is therefore the whole road, reader included: a key that is read and
/// then forgotten fails there.
namespace stepcast::test {

/// "/json/pointer=value", as behind --set.
using Settings = std::vector<std::string>;
Settings operator+(Settings base, const Settings& more);

/// Eight blocks of hidden 2048 on two nodes of eight H100 under a rail-optimised fabric, plain data
/// parallel over 16 ranks, two micro-batches of one sequence of 2048 tokens each, bucketed
/// overlapped gradient reduction.
Result<Scenario> try_job(const Settings& settings = {});
/// Throws InputError when the settings make no good scenario.
Scenario job(const Settings& settings = {});
/// The same, as a mixture of eight experts.
Settings mixture();

Forecast forecast(const Scenario& scenario, EngineKind engine = EngineKind::native);
inline Forecast forecast(const Settings& settings = {}, EngineKind engine = EngineKind::native) {
  return forecast(job(settings), engine);
}
inline double step_s(const Settings& settings = {}, EngineKind engine = EngineKind::native) {
  return forecast(settings, engine).outcome.step_s;
}
inline double seconds_of(const Forecast& f, Category category) {
  return f.outcome.breakdown[static_cast<std::size_t>(category)];
}
}  // namespace stepcast::test
