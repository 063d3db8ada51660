#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/workload/op.hpp"

/// What a table of measurements asks of the simulator, free of any table's format. A reader turns
/// rows into questions; a predictor answers them; score compares.
namespace stepcast {

enum class Metric { step_time, peak_memory, collective_time, kernel_time };

/// One measured number. Seconds, or bytes for peak_memory. `item` says which size or op of the
/// question it belongs to.
struct Measure {
  std::string id;
  Metric metric = Metric::step_time;
  double measured = 0;
  std::size_t item = 0;
};

/// A training step. `scenario` is JSON text that `stepcast simulate` would accept. When the source
/// names no micro-batch, the largest of `micro_batches` that divides the batch and fits in memory
/// is taken.
struct StepQuestion {
  std::string scenario;
  std::vector<std::int64_t> micro_batches;
};
/// A bare collective over all GPUs of a cluster, one item per entry of the scenario's sizes
/// (strictly rising).
struct CollectiveQuestion {
  std::string scenario;
};
/// Isolated kernels of one GPU, burst speed; one item per op.
struct KernelQuestion {
  std::string gpu;  // profile name
  std::vector<Op> ops;
};
struct Question {
  std::string table;   // the assumption set's name: groups the score
  std::string origin;  // file and line, for messages
  std::variant<StepQuestion, CollectiveQuestion, KernelQuestion> what;
  std::vector<Measure> measures;
};

/// A row that could not become a question.
struct SkippedRow {
  std::string table, id, reason;
};
struct Questions {
  std::vector<Question> list;
  std::vector<SkippedRow> skipped;
};
}  // namespace stepcast
