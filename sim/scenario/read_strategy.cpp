#include <algorithm>

#include "sim/io/object_reader.hpp"
#include "sim/scenario/parts.hpp"

namespace stepcast {
namespace {
constexpr double kMiB = 1048576.0;
constexpr double kLargestBucket_MiB = 1 << 20;  // 1 TiB: beyond any gradient, "never split"

Bytes bytes_from_MiB(double MiB) { return Bytes(static_cast<std::int64_t>(MiB * kMiB + 0.5)); }
}  // namespace

StrategySpec read_strategy(ObjectReader r, int dp, std::int64_t gradient_element_bytes) {
  StrategySpec s;
  s.preset = r.text("preset", s.preset);
  s.framework = r.text("framework", s.framework);
  s.host = r.one_of<HostMode>("host", s.host);
  s.host_scale = r.number("host_scale", {.fallback = s.host_scale, .min = 0, .max = 1000});

  // A bucket is stated in MiB (PyTorch, Horovod) or in elements that grow with the data-parallel
  // size (Megatron).
  const auto bucket =
      r.optional_number("bucket_MiB", {.min = 1.0 / 1024, .max = kLargestBucket_MiB});
  const auto elements =
      r.optional_integer("bucket_elements", {.min = 1, .max = std::int64_t{1} << 40});
  const auto per_rank =
      r.optional_integer("bucket_elements_per_dp_rank", {.min = 0, .max = std::int64_t{1} << 40});
  if (bucket) {
    if (elements || per_rank)
      r.problem("bucket_MiB", "stands beside bucket_elements, which says the same in elements",
                "keep one of them");
    s.bucket_bytes = bytes_from_MiB(*bucket);
  } else {
    const std::int64_t count =
        std::max(elements.value_or(40'000'000), per_rank.value_or(0) * std::max(dp, 1));
    s.bucket_bytes = Bytes(count * gradient_element_bytes);
  }
  s.first_bucket_bytes =
      bytes_from_MiB(r.number("first_bucket_MiB", {.fallback = 0, .max = kLargestBucket_MiB}));

  s.overlap_grad_reduce = r.boolean("overlap_grad_reduce", s.overlap_grad_reduce);
  s.overlap_param_gather = r.boolean("overlap_param_gather", s.overlap_param_gather);
  s.overlap_p2p = r.boolean("overlap_p2p", s.overlap_p2p);
  s.p2p_blocks_host = r.boolean("p2p_blocks_host", s.p2p_blocks_host);
  s.batch_blocks_host = r.boolean("batch_blocks_host", s.batch_blocks_host);
  s.loss_blocks_host = r.boolean("loss_blocks_host", s.loss_blocks_host);
  s.tp_overlap = r.number("tp_overlap", {.fallback = s.tp_overlap, .min = 0, .max = 1});
  s.prefetch =
      static_cast<int>(r.integer("prefetch", {.fallback = s.prefetch, .min = 0, .max = 1024}));
  s.reshard_after_forward = r.boolean("reshard_after_forward", s.reshard_after_forward);
  s.blocking_step_end = r.boolean("blocking_step_end", s.blocking_step_end);
  s.collective_algorithm = r.one_of<Algorithm>("collective_algorithm", s.collective_algorithm);
  s.cycle_s = r.number("cycle_ms", {.fallback = 0, .min = 0, .max = 10'000}) * 1e-3;
  s.negotiation_hop_s =
      r.number("negotiation_hop_us", {.fallback = 0, .min = 0, .max = 1e6}) * 1e-6;
  s.splits_model = r.boolean("splits_model", s.splits_model);
  s.spans_nodes = r.boolean("spans_nodes", s.spans_nodes);
  s.find_unused_parameters = r.boolean("find_unused_parameters", false);
  s.offload = r.one_of<Offload>("offload", Offload::none);
  s.cpu_update_parameters_per_s =
      r.number("cpu_update_Gparameters_per_s", {.fallback = 0, .min = 0, .max = 1e4}) * 1e9;
  r.done();
  return s;
}
}  // namespace stepcast
