#include <algorithm>
#include <cmath>

#include "runtime/compress/schemes.hpp"

namespace stepcast::runtime {
namespace {
/// The bucket as the matrix nearest to a square: a rank-r approximation of rows x cols costs r
/// (rows + cols) values.
PowerShape shape_of(std::int64_t elements, int rank) {
  PowerShape shape;
  shape.elements = elements;
  shape.cols =
      std::max<std::int64_t>(1, std::llround(std::ceil(std::sqrt(static_cast<double>(elements)))));
  shape.rows = (elements + shape.cols - 1) / shape.cols;
  shape.rank = static_cast<int>(std::min<std::int64_t>(rank, std::min(shape.rows, shape.cols)));
  return shape;
}

/// One step of subspace iteration, warm from the last q:  p = sum_w M_w q;  p orthonormal;  q =
/// sum_w M_w' p;  result p q'.
class PowerSgdCompressor final : public FeedbackCompressor {
 public:
  PowerSgdCompressor(const CompressorChoice& choice, const CompressorPlace& place)
      : FeedbackCompressor(choice, place),
        shape_(shape_of(place.elements, choice.rank)),
        p_(place.device, shape_.rows * shape_.rank, Precision::fp32),
        q_(place.device, shape_.cols * shape_.rank, Precision::fp32) {}
  int rounds() const override { return 2; }
  Message encode(Stream& stream, int round, View gradient) override {
    if (round == 0) {
      add_gradient(stream, gradient);
      if (!is_warm_) place_.loops.power_start(stream, q_.view(), shape_, choice_.seed);
      is_warm_ = true;
      place_.loops.power_project(stream, x_.view(), q_.view(), p_.view(), shape_);
      return {Combine::all_reduce, p_.view(), {}, {shape_.rows * shape_.rank}};
    }
    // The residual is this rank's own: M_w - p (M_w' p)', taken before the factors are summed.
    place_.loops.power_back(stream, x_.view(), p_.view(), q_.view(), shape_);
    return {Combine::all_reduce, q_.view(), {}, {shape_.cols * shape_.rank}};
  }
  void decode(Stream& stream, int round, View gradient) override {
    if (round == 0)
      place_.loops.power_orthonormalise(stream, p_.view(), shape_);
    else
      place_.loops.power_expand(stream, p_.view(), q_.view(), gradient, shape_);
  }

 private:
  PowerShape shape_;
  Buffer p_, q_;  // (rows, r), (cols, r) fp32
  bool is_warm_ = false;
};
}  // namespace
std::unique_ptr<Compressor> new_power_sgd(const CompressorChoice& choice,
                                          const CompressorPlace& place) {
  return std::make_unique<PowerSgdCompressor>(choice, place);
}
}  // namespace stepcast::runtime
