#pragma once
#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/scenario/convergence_spec.hpp"

namespace stepcast::runtime {
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Samples as rows. Either `features` (rows, F) or `tokens` (rows * context) is filled.
struct Samples {
  Matrix features;
  std::vector<int> tokens;
  std::vector<int> labels;
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

struct NetworkShape {
  int features = 0;  // width of a dense input; 0 with an embedding
  int context = 0, vocabulary = 0,
      embedding = 0;  // text: tokens per sample, table (vocabulary, embedding)
  int hidden = 64, classes = 10;
  BatchNorm batch_norm = BatchNorm::none;
  int input() const { return features > 0 ? features : context * embedding; }
};
/// A parameter tensor inside the flat vector; LARS and LAMB take their norms tensor by tensor.
struct TensorSpan {
  std::int64_t offset = 0;
  int rows = 1, columns = 1;
};

/// input - dense - [batch norm] - ReLU - dense - [batch norm] - ReLU - dense - softmax cross
/// entropy. Parameters lie in one flat vector, so that optimizers, compressors and averages see
/// plain floats.
class Network {
 public:
  explicit Network(const NetworkShape& shape);
  const NetworkShape& shape() const { return shape_; }
  std::int64_t parameters() const { return parameters_; }
  const std::vector<TensorSpan>& tensors() const { return tensors_; }
  /// He et al. 2015: normal with variance 2 / fan-in; batch norm starts as identity.
  std::vector<float> initialised(std::uint64_t seed) const;

  /// Gradients of the mean loss of each worker's samples, all at the same parameters. `samples`
  /// holds worker after worker, equally many each; out[worker] is overwritten, parameters() floats.
  /// Returns the mean loss over all samples.
  double gradients(std::span<const float> parameters, const Samples& samples,
                   std::span<std::vector<float>> out) const;
  /// Mean loss in nats; batch norm takes the statistics of these samples.
  double loss(std::span<const float> parameters, const Samples& samples) const;
  /// Probability of each class (rows, classes).
  Matrix probabilities(std::span<const float> parameters, const Samples& samples) const;

 private:
  struct Pass;
  void forward(std::span<const float> parameters, const Samples& samples, int groups,
               Pass& pass) const;
  Eigen::Map<const Matrix> tensor(std::span<const float> parameters, std::size_t index) const;
  int add_tensor(int rows, int columns);

  NetworkShape shape_;
  std::int64_t parameters_ = 0;
  std::vector<TensorSpan> tensors_;
  int table_ = -1;  // index of the embedding table
  int weight_[3], bias_[3], scale_[2], shift_[2];
};
}  // namespace stepcast::runtime
