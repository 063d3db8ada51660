#pragma once
#include <string>
#include <vector>

#include "runtime/device/device.hpp"

namespace stepcast::runtime {

/// Rows [0, rows) of a piece of this rank's matrix are rows [global, global + rows) of the whole
/// one.
struct RowPiece {
  std::int64_t rows = 0, global = 0;
};
/// One tensor of the model as this rank holds it, a range of the arenas.
struct Parameter {
  std::string name;
  std::int64_t offset = 0;             // elements from the arena's start
  std::int64_t rows = 1, columns = 0;  // as held here
  std::int64_t first_column = 0, global_columns = 0;
  std::vector<RowPiece> pieces;  // empty: the rows are the whole matrix's
  double deviation = 0;          // of the normal numbers it starts from; 0: starts constant
  double constant = 0;
  bool is_replicated = true;  // over tensor-parallel ranks
  std::int64_t elements() const { return rows * columns; }
};

/// All parameters in one arena, in forward order, so that the backward completes gradients from its
/// end and a gradient bucket is one range. Gradients and optimizer state have arenas of the same
/// layout.
class Parameters {
 public:
  /// Appends and returns the index. Before allocate().
  std::size_t add(Parameter parameter);
  /// Reserves the arenas; the total is padded to a multiple of `granularity` elements (shards must
  /// come out even).
  void allocate(Device& device, Precision precision, std::int64_t granularity);
  /// Fills weights: element e of the whole tensor `name` depends on (seed, name, e) alone, however
  /// it is split.
  void initialise(Stream& stream, std::uint64_t seed);

  const std::vector<Parameter>& list() const { return list_; }
  std::int64_t elements() const { return elements_; }  // padded
  std::int64_t used_elements() const { return used_; }
  View weight(std::size_t index) const { return weights(list_[index].offset); }
  View gradient(std::size_t index) const { return gradients(list_[index].offset); }
  View weights(std::int64_t offset = 0) const {
    return precision_ == Precision::fp32 ? master(offset) : narrow_.view(offset);
  }
  View master(std::int64_t offset = 0) const { return master_.view(offset); }
  View gradients(std::int64_t offset = 0) const { return gradients_.view(offset); }
  /// Parameters of this rank that other tensor-parallel ranks hold too, as ranges for the gradient
  /// norm.
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges(bool replicated) const;

 private:
  std::vector<Parameter> list_;
  std::int64_t elements_ = 0, used_ = 0;
  Precision precision_ = Precision::fp32;
  Device* device_ = nullptr;
  Buffer master_, narrow_, gradients_;
};
}  // namespace stepcast::runtime
