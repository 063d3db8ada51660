#pragma once
#include <functional>
#include <vector>

#include "calibrate/measure/bench.hpp"
#include "calibrate/measure/interference.hpp"
#include "calibrate/step/collective_piece.hpp"
#include "calibrate/step/op_piece.hpp"

namespace stepcast::calibrate {

/// What the step's collectives cost the computation beside them, as in the step: every rank
/// computes the step's own mix of ops, while the side stream runs the step's own messages back to
/// back. Three windows in turn: compute alone, the messages alone, both at once. With a compressor
/// also what a kernel on the side stream costs, as decoding is one.
class OverlapPiece {
 public:
  OverlapPiece(Bench& bench, OpPiece& ops, CollectivePiece& collectives, bool decodes_beside);
  void round();
  /// "overlap/compute", "overlap/comm" and "overlap/kernels" hold factors in place of seconds.
  std::vector<Entry> entries() const;

 private:
  Window window(bool computes, const std::function<void()>& enqueue_side);
  /// As many of the step's messages, in turn, as a computation of that time hides.
  void choose_messages(double compute_s);
  Bench& bench_;
  OpPiece& ops_;
  CollectivePiece& collectives_;
  bool decodes_beside_;
  runtime::Buffer kernel_input_, kernel_output_;
  std::vector<std::size_t> beside_;    // calls that do not run on the compute stream
  std::vector<std::size_t> messages_;  // those of a window
  int kernels_ = 0;
  std::int64_t step_ = 0;
  std::vector<double> compute_alone_, messages_alone_, compute_, messages_beside_, kernels_alone_,
      compute_by_kernels_, kernels_beside_;
};
}  // namespace stepcast::calibrate
