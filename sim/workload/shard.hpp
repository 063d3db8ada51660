#pragma once
#include "sim/workload/parallel_layout.hpp"
#include "sim/workload/training_spec.hpp"

namespace stepcast {

/// The part of one micro-batch that one rank holds, and how wide its numbers are. Inside
/// sim/workload only.
struct Shard {
  Shard(const TrainingSpec& t, const ParallelLayout& l)
      : training(t),
        layout(l),
        batch(t.micro_batch),
        sequence(t.sequence_length),
        local_sequence(t.sequence_length / l.cp),
        tokens(t.micro_batch * (t.sequence_length / l.cp)),
        norm_tokens(l.sequence_parallel ? tokens / l.tp : tokens) {}

  const TrainingSpec& training;
  const ParallelLayout& layout;
  std::int64_t batch, sequence, local_sequence;
  std::int64_t tokens;       // of this rank: B * T / cp
  std::int64_t norm_tokens;  // where norms, dropout and residuals work: tokens / tp under sequence
                             // parallelism

  bool is_eager() const { return training.fusion == Fusion::eager; }
  bool is_compiled() const { return training.fusion == Fusion::compiled; }
  bool uses_8_bit() const { return bytes_per_element(training.precision) == 1; }
  /// 8-bit formats are for GEMM inputs; everything between GEMMs, and every message, stays in 16
  /// bit (Transformer Engine's recipe).
  Precision storage() const { return uses_8_bit() ? Precision::bf16 : training.precision; }
  std::int64_t element() const { return bytes_per_element(storage()); }
  /// Width of a GEMM input that is kept for the weight gradient.
  std::int64_t saved_element() const { return bytes_per_element(training.precision); }
};
}  // namespace stepcast
