#include "sim/workload/layer_builder.hpp"

#include <algorithm>

namespace stepcast {
namespace {
void append(std::vector<Op>& to, const std::vector<Op>& from) {
  to.insert(to.end(), from.begin(), from.end());
}
}  // namespace

LayerWork LayerBuilder::finish(std::int64_t input, std::int64_t output, Recompute mode) {
  std::int64_t kept = 0, kept_core = 0;
  for (const LayerPiece& piece : pieces_) {
    append(work_.forward, piece.forward);
    (piece.is_attention_core ? kept_core : kept) += piece.kept;
    if (mode == Recompute::full || (mode == Recompute::selective && piece.is_attention_core))
      append(work_.recompute, piece.forward);
  }
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece)
    append(work_.backward, piece->backward);
  for (Op& op : work_.recompute) op.pass = Pass::recompute;

  switch (mode) {
    case Recompute::none:
      work_.activation = Bytes(kept + kept_core);
      work_.working = Bytes(temporary_);
      break;
    case Recompute::selective:
      work_.activation = Bytes(kept);
      work_.working = Bytes(std::max(temporary_, kept_core));
      break;
    case Recompute::full:
      // Only the input stays; one layer's activations come back while its backward runs.
      work_.activation = Bytes(input);
      work_.working = Bytes(std::max<std::int64_t>(kept + kept_core - input, 0) + temporary_);
      break;
  }
  work_.output = Bytes(output);
  return std::move(work_);
}
}  // namespace stepcast
