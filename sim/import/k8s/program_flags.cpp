#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/import/k8s/parts.hpp"

namespace stepcast::k8s {
const ProgramFlag* find_flag(const Flags& flags, std::string_view name) {
  const ProgramFlag* found = nullptr;
  for (const ProgramFlag& flag : flags)
    if (flag.name == name) found = &flag;
  return found;
}

std::optional<std::int64_t> flag_number(const Flags& flags, std::string_view name,
                                        std::int64_t least, int line, Reading& reading) {
  const ProgramFlag* flag = find_flag(flags, name);
  if (flag == nullptr) return std::nullopt;
  if (flag->values.empty()) {
    reading.problem(line, fmt::format("--{} has no value", name), "a whole number is expected");
    return std::nullopt;
  }
  const std::string& value = flag->values.front();
  if (is_open(value)) {
    reading.unknown.push_back(
        fmt::format("--{} is {}, which the manifest does not set (line {})", name, value, line));
    return std::nullopt;
  }
  const auto number = whole_number(value, least);
  if (!number)
    reading.problem(line, fmt::format("--{}: found \"{}\", expected a whole number of at least {}",
                                      name, value.substr(0, 60), least));
  return number;
}

namespace {
/// "--bf16", "--bf16 True", "--fp16=false"
bool is_on(const Flags& flags, std::string_view name) {
  const ProgramFlag* flag = find_flag(flags, name);
  if (flag == nullptr) return false;
  if (flag->values.empty()) return true;
  const std::string& value = flag->values.front();
  return value != "False" && value != "false" && value != "0";
}

/// transformers.TrainingArguments, documentation of release 4.
void apply_trainer(const Flags& flags, std::int64_t world, int line, Reading& reading) {
  const auto micro = flag_number(flags, "per-device-train-batch-size", 1, line, reading);
  if (!micro) return;
  reading.put("/training/micro_batch", *micro);
  const auto accumulation =
      flag_number(flags, "gradient-accumulation-steps", 1, line, reading).value_or(1);
  reading.put("/training/global_batch", *micro * accumulation * world);
  if (is_on(flags, "bf16")) reading.put("/training/precision", "bf16");
  if (is_on(flags, "fp16")) reading.put("/training/precision", "fp16");
  if (is_on(flags, "gradient-checkpointing")) reading.put("/training/recompute", "full");
  for (const char* name : {"max-seq-length", "max-seq-len", "block-size", "model-max-length"})
    if (const auto length = flag_number(flags, name, 1, line, reading))
      reading.put("/training/sequence_length", *length);
  reading.read.push_back(
      fmt::format("batch, precision and recomputation from flags of "
                  "transformers' Trainer (line {})",
                  line));
}

/// tensorflow/benchmarks, scripts/tf_cnn_benchmarks: --batch_size counts images per device.
void apply_tf_benchmarks(const Flags& flags, std::int64_t world, int line, Reading& reading) {
  if (const auto batch = flag_number(flags, "batch-size", 1, line, reading)) {
    reading.put("/training/micro_batch", *batch);
    reading.put("/training/global_batch", *batch * world);
    reading.read.push_back(
        fmt::format("batch {} per device from --batch_size (line {})", *batch, line));
  }
  reading.put("/training/precision", is_on(flags, "use-fp16") ? "fp16" : "fp32");
}
}  // namespace

void apply_program(const LaunchLine& line, const Flags& flags, std::int64_t world, int pod_line,
                   Reading& reading) {
  for (const char* name :
       {"model-name-or-path", "model-name", "model", "arch", "a", "pretrained-model-name-or-path"})
    if (const ProgramFlag* flag = find_flag(flags, name);
        flag != nullptr && !flag->values.empty()) {
      const std::string preset = model_named(flag->values.front());
      if (preset.empty()) continue;
      reading.put("/model/preset", preset);
      reading.read.push_back(fmt::format("model {} from --{} {} (line {})", preset, name,
                                         flag->values.front(), pod_line));
    }
  if (line.program.ends_with("tf_cnn_benchmarks.py"))
    apply_tf_benchmarks(flags, world, pod_line, reading);
  else
    apply_trainer(flags, world, pod_line, reading);
  static const std::vector<std::string> used{"per-device-train-batch-size",
                                             "gradient-accumulation-steps",
                                             "bf16",
                                             "fp16",
                                             "gradient-checkpointing",
                                             "max-seq-length",
                                             "max-seq-len",
                                             "block-size",
                                             "model-max-length",
                                             "model-name-or-path",
                                             "model-name",
                                             "model",
                                             "arch",
                                             "a",
                                             "pretrained-model-name-or-path",
                                             "fsdp",
                                             "deepspeed",
                                             "deepspeed-config",
                                             "variable-update",
                                             "use-fp16"};
  for (const ProgramFlag& flag : flags) {
    const bool is_used =
        std::find(used.begin(), used.end(), flag.name) != used.end() ||
        (flag.name == "batch-size" && line.program.ends_with("tf_cnn_benchmarks.py"));
    if (!is_used) reading.unused.push_back("--" + flag.name);
  }
}

bool apply_nccl_tests(const LaunchLine& line, const Flags& flags, int pod_line, Reading& reading) {
  static const std::map<std::string, std::string> tests{
      {"all_reduce_perf", "all_reduce"},         {"all_gather_perf", "all_gather"},
      {"reduce_scatter_perf", "reduce_scatter"}, {"broadcast_perf", "broadcast"},
      {"alltoall_perf", "all_to_all"},           {"sendrecv_perf", "send_recv"}};
  const auto test = tests.find(line.program.substr(line.program.rfind('/') + 1));
  if (test == tests.end()) return false;
  reading.put("/collective/operation", test->second);
  // "8", "16G", "1024K": nccl-tests counts in powers of 1024.
  const auto size = [&](const char* name) -> std::optional<std::int64_t> {
    const ProgramFlag* flag = find_flag(flags, name);
    if (flag == nullptr || flag->values.empty()) return std::nullopt;
    std::string text = flag->values.front();
    int shift = 0;
    if (const std::size_t at = std::string_view("KMG").find(text.back()); at != std::string::npos)
      shift = 10 * (static_cast<int>(at) + 1);
    if (shift > 0) text.pop_back();
    const auto number = whole_number(text, 1);
    if (!number || *number > (std::int64_t{1} << (44 - shift))) {
      reading.problem(pod_line, fmt::format("-{}: found \"{}\", expected a size such as 16G", name,
                                            flag->values.front().substr(0, 60)));
      return std::nullopt;
    }
    return *number << shift;
  };
  if (const auto low = size("b")) reading.put("/collective/min_B", *low);
  if (const auto high = size("e")) reading.put("/collective/max_B", *high);
  if (const auto factor = flag_number(flags, "f", 2, pod_line, reading))
    reading.put("/collective/factor", *factor);
  reading.read.push_back(
      fmt::format("a sweep of {} from {} (line {})", test->second, test->first, pod_line));
  return true;
}
}  // namespace stepcast::k8s
