#include "sim/timeline/read/classify.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "sim/import/common/nccl_identity.hpp"
#include "sim/import/common/trace_timeline.hpp"
#include "sim/import/kineto/collective_args.hpp"

namespace stepcast::trace {
namespace {
bool is_any_of(std::string_view text, std::initializer_list<std::string_view> known) {
  return std::find(known.begin(), known.end(), text) != known.end();
}
bool is_kernel(std::string_view category) { return category == "kernel" || category == "Kernel"; }

/// Words of a text in lower case: "saveCheckpoint_all-reduce" -> save checkpoint all reduce.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool was_lower = false, is_inside = false;
  for (const char raw :
       text.substr(0, 300)) {  // template arguments of kernels go on for thousands of letters
    const auto c = static_cast<unsigned char>(raw);
    if (std::isalpha(c) == 0) {
      is_inside = was_lower = false;
      continue;
    }
    const bool is_upper = std::isupper(c) != 0;
    if (!is_inside || (is_upper && was_lower)) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(c));
    is_inside = true, was_lower = !is_upper;
  }
  return words;
}

SliceCategory of_group(GroupKind kind) {
  switch (kind) {
    case GroupKind::tp:
      return SliceCategory::exposed_tp;
    case GroupKind::pp:
      return SliceCategory::exposed_pp;
    case GroupKind::ep:
      return SliceCategory::exposed_ep;
    case GroupKind::cp:
      return SliceCategory::exposed_cp;
    default:
      return SliceCategory::exposed_dp;
  }
}
/// Where no group is stated: messages are a pipeline's, all-to-all an expert layer's, the rest data
/// parallel.
SliceCategory of_collective(std::string_view name) {
  const auto collective = collective_named_in(name);
  if (collective == Collective::send_recv) return SliceCategory::exposed_pp;
  if (collective == Collective::all_to_all) return SliceCategory::exposed_ep;
  return SliceCategory::exposed_dp;
}
SliceCategory of_kernel(std::string_view name, std::string_view args) {
  if (is_communication_kernel(name)) {
    if (const auto call = kineto::call_from_metadata(args)) {
      if (!call->group_description.empty()) return of_group(group_kind_of(*call));
      return of_collective(call->name);
    }
    return of_collective(name);
  }
  for (const std::string_view word :
       {"adam", "Adam", "_sgd", "SGD", "lamb", "Lamb", "multi_tensor_apply", "optimizer"})
    if (name.find(word) != std::string_view::npos) return SliceCategory::optimizer;
  return SliceCategory::compute;
}

SliceCategory of_words(std::string_view name, std::string_view category) {
  std::vector<std::string> words = words_of(name);
  for (std::string& word : words_of(category)) words.push_back(std::move(word));
  const auto has = [&](std::initializer_list<std::string_view> known) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return is_any_of(word, known); });
  };
  if (has({"failure", "failed", "crash", "crashed", "restart", "recovery"}))
    return SliceCategory::failure;
  if (has({"checkpoint", "checkpointing", "ckpt"})) return SliceCategory::checkpoint;
  if (has({"straggler", "stragglers"})) return SliceCategory::straggler_wait;
  if (has({"bubble", "bubbles"})) return SliceCategory::bubble;
  bool is_collective = false;
  collective_named_in(name, &is_collective);
  if ((is_collective &&
       has({"all", "reduce", "allreduce", "gather", "allgather", "reducescatter", "alltoall",
            "broadcast", "barrier", "nccl", "gloo", "mpi", "send", "recv"})) ||
      has({"send", "recv", "isend", "irecv", "nccl", "gloo", "mpi", "communication", "comm"}))
    return of_collective(has({"send", "recv", "isend", "irecv"}) ? "send" : name);
  if (has({"optimizer", "adam", "sgd", "lamb"})) return SliceCategory::optimizer;
  if (has({"compress", "decompress", "quantize", "dequantize", "compression"}))
    return SliceCategory::compression;
  if (has({"dataloader", "loader", "dataset"})) return SliceCategory::data;
  if (has({"compute", "forward", "backward", "gemm", "matmul", "conv", "attention", "mlp", "fprop",
           "bprop", "wgrad", "dgrad"}))
    return SliceCategory::compute;
  return SliceCategory::other;
}
}  // namespace

EventPlace place_of(std::string_view category) {
  if (is_any_of(category, {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset",
                           "gpu_user_annotation", "cuda_sync"}))
    return EventPlace::device;
  if (is_any_of(category,
                {"cpu_op", "Operator", "user_annotation", "python_function", "cuda_runtime",
                 "cuda_driver", "Runtime", "hip_runtime", "overhead", "Overhead", "Trace"}) ||
      category.ends_with("_runtime") || category.ends_with("_driver"))
    return EventPlace::host;
  return EventPlace::unknown;
}

bool depends_on_args(std::string_view name, std::string_view category) {
  return is_kernel(category) && is_communication_kernel(name);
}

SliceCategory classify(std::string_view name, std::string_view category, std::string_view args) {
  if (const auto ours = enum_from_text<Category>(category)) return slice_category_of(*ours);
  if (const auto shown = enum_from_text<SliceCategory>(category)) return *shown;
  if (is_kernel(category)) return of_kernel(name, args);
  switch (place_of(category)) {
    case EventPlace::device:
      return SliceCategory::other;  // copies, fills, ranges
    case EventPlace::host:
      // Host events decorate: only what stands for real work of a rank without device is shown as
      // such.
      if (name.starts_with("gloo:") || name.starts_with("mpi:")) return of_collective(name);
      if (name.find("DataLoader") != std::string_view::npos) return SliceCategory::data;
      return SliceCategory::other;
    case EventPlace::unknown:
      break;
  }
  return of_words(name, category);
}
}  // namespace stepcast::trace
