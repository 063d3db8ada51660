#include "runtime/converge/network.hpp"

#include <cmath>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"

namespace stepcast::runtime {
namespace {
constexpr float kVarianceFloor = 1e-5F;  // batch norm's epsilon, PyTorch's default
using Row = Eigen::RowVectorXf;

Eigen::Map<Matrix> mutable_tensor(std::vector<float>& flat, const TensorSpan& t) {
  return {flat.data() + t.offset, t.rows, t.columns};
}
}  // namespace

/// What the backward needs from the forward.
struct Network::Pass {
  Matrix input;                   // (rows, input)
  Matrix active[2];               // after ReLU (rows, hidden)
  Matrix normal[2];               // normalised, before scale and shift
  std::vector<Row> deviation[2];  // 1 / standard deviation, per group of rows
  Matrix probability;             // (rows, classes)
  double loss = 0;                // mean over rows
};

Network::Network(const NetworkShape& shape) : shape_(shape) {
  if (shape.features == 0) table_ = add_tensor(shape.vocabulary, shape.embedding);
  const int widths[4] = {shape.input(), shape.hidden, shape.hidden, shape.classes};
  for (int layer = 0; layer < 3; ++layer) {
    weight_[layer] = add_tensor(widths[layer], widths[layer + 1]);
    bias_[layer] = add_tensor(1, widths[layer + 1]);
    if (layer == 2) break;
    scale_[layer] = shift_[layer] = -1;
    if (shape.batch_norm == BatchNorm::none) continue;
    scale_[layer] = add_tensor(1, widths[layer + 1]);
    shift_[layer] = add_tensor(1, widths[layer + 1]);
  }
}

int Network::add_tensor(int rows, int columns) {
  tensors_.push_back({parameters_, rows, columns});
  parameters_ += static_cast<std::int64_t>(rows) * columns;
  return static_cast<int>(tensors_.size()) - 1;
}

Eigen::Map<const Matrix> Network::tensor(std::span<const float> parameters,
                                         std::size_t index) const {
  const TensorSpan& t = tensors_[index];
  return {parameters.data() + t.offset, t.rows, t.columns};
}

std::vector<float> Network::initialised(std::uint64_t seed) const {
  std::vector<float> flat(static_cast<std::size_t>(parameters_), 0.0F);
  const auto draw = [&](int index, double deviation) {
    const TensorSpan& t = tensors_[static_cast<std::size_t>(index)];
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(t.rows) * t.columns; ++i)
      flat[static_cast<std::size_t>(t.offset + i)] = static_cast<float>(
          deviation * normal_from_bits(mixed_bits(seed, static_cast<std::uint64_t>(t.offset + i))));
  };
  if (table_ >= 0) draw(table_, 1);
  for (int layer = 0; layer < 3; ++layer) {
    draw(weight_[layer], std::sqrt(2.0 / tensors_[static_cast<std::size_t>(weight_[layer])].rows));
    if (layer < 2 && scale_[layer] >= 0)
      mutable_tensor(flat, tensors_[static_cast<std::size_t>(scale_[layer])]).setOnes();
  }
  return flat;
}

void Network::forward(std::span<const float> parameters, const Samples& samples, int groups,
                      Pass& pass) const {
  const Eigen::Index rows = samples.size();
  if (table_ < 0) {
    pass.input = samples.features;
  } else {
    const auto table = tensor(parameters, static_cast<std::size_t>(table_));
    pass.input.resize(rows, shape_.input());
    for (Eigen::Index row = 0; row < rows; ++row)
      for (int place = 0; place < shape_.context; ++place)
        pass.input.row(row).segment(place * shape_.embedding, shape_.embedding) =
            table.row(samples.tokens[static_cast<std::size_t>(row * shape_.context + place)]);
  }
  for (int layer = 0; layer < 2; ++layer) {
    const Matrix& from = layer == 0 ? pass.input : pass.active[0];
    Matrix& to = pass.active[layer];
    to.noalias() = from * tensor(parameters, static_cast<std::size_t>(weight_[layer]));
    to.rowwise() += tensor(parameters, static_cast<std::size_t>(bias_[layer])).row(0);
    if (scale_[layer] >= 0) {
      pass.normal[layer].resize(rows, to.cols());
      pass.deviation[layer].clear();
      const Eigen::Index size = rows / groups;
      for (Eigen::Index group = 0; group < groups; ++group) {
        auto block = to.middleRows(group * size, size);
        const Row mean = block.colwise().mean();
        const Matrix centred = block.rowwise() - mean;
        const Row variance = centred.array().square().colwise().mean();
        const Row deviation = (variance.array() + kVarianceFloor).rsqrt();
        pass.normal[layer].middleRows(group * size, size) =
            centred.array().rowwise() * deviation.array();
        pass.deviation[layer].push_back(deviation);
      }
      to = pass.normal[layer].array().rowwise() *
           tensor(parameters, static_cast<std::size_t>(scale_[layer])).row(0).array();
      to.rowwise() += tensor(parameters, static_cast<std::size_t>(shift_[layer])).row(0);
    }
    to = to.cwiseMax(0.0F);
  }
  Matrix& p = pass.probability;
  p.noalias() = pass.active[1] * tensor(parameters, static_cast<std::size_t>(weight_[2]));
  p.rowwise() += tensor(parameters, static_cast<std::size_t>(bias_[2])).row(0);
  double loss = 0;
  for (Eigen::Index row = 0; row < rows; ++row) {
    auto line = p.row(row);
    line.array() -= line.maxCoeff();
    const float logit = line[samples.labels[static_cast<std::size_t>(row)]];
    line = line.array().exp();
    const float sum = line.sum();
    loss += std::log(static_cast<double>(sum)) - static_cast<double>(logit);
    line /= sum;
  }
  pass.loss = loss / static_cast<double>(rows);
}

double Network::loss(std::span<const float> parameters, const Samples& samples) const {
  Pass pass;
  forward(parameters, samples, 1, pass);
  return pass.loss;
}

Matrix Network::probabilities(std::span<const float> parameters, const Samples& samples) const {
  Pass pass;
  forward(parameters, samples, 1, pass);
  return pass.probability;
}

double Network::gradients(std::span<const float> parameters, const Samples& samples,
                          std::span<std::vector<float>> out) const {
  const auto workers = static_cast<Eigen::Index>(out.size());
  const Eigen::Index rows = samples.size();
  STEPCAST_ASSERT(workers > 0 && rows % workers == 0, "every worker brings equally many samples");
  const Eigen::Index size = rows / workers;
  const int groups = shape_.batch_norm == BatchNorm::sync ? 1 : static_cast<int>(workers);
  Pass pass;
  forward(parameters, samples, groups, pass);
  for (std::vector<float>& gradient : out)
    gradient.assign(static_cast<std::size_t>(parameters_), 0.0F);

  Matrix above =
      pass.probability;  // gradient of each row's loss, averaged over its worker's samples
  for (Eigen::Index row = 0; row < rows; ++row)
    above(row, samples.labels[static_cast<std::size_t>(row)]) -= 1;
  above /= static_cast<float>(size);
  for (int layer = 2; layer >= 0; --layer) {
    if (layer < 2) {
      above = (pass.active[layer].array() > 0).select(above, 0.0F);
      if (scale_[layer] >= 0) {
        const auto scale = tensor(parameters, static_cast<std::size_t>(scale_[layer])).row(0);
        for (Eigen::Index worker = 0; worker < workers; ++worker) {
          const auto part = above.middleRows(worker * size, size);
          std::vector<float>& flat = out[static_cast<std::size_t>(worker)];
          mutable_tensor(flat, tensors_[static_cast<std::size_t>(scale_[layer])]).row(0) =
              part.cwiseProduct(pass.normal[layer].middleRows(worker * size, size)).colwise().sum();
          mutable_tensor(flat, tensors_[static_cast<std::size_t>(shift_[layer])]).row(0) =
              part.colwise().sum();
        }
        const Eigen::Index group_size = rows / groups;
        for (Eigen::Index group = 0; group < groups; ++group) {
          auto part = above.middleRows(group * group_size, group_size);
          const auto normal = pass.normal[layer].middleRows(group * group_size, group_size);
          const Row mean = part.colwise().mean();
          const Row along = part.cwiseProduct(normal).colwise().mean();
          const Row factor =
              scale.cwiseProduct(pass.deviation[layer][static_cast<std::size_t>(group)]);
          const Matrix through = part.rowwise() - mean;
          part = (through.array() - normal.array().rowwise() * along.array()).rowwise() *
                 factor.array();
        }
      }
    }
    const Matrix& below = layer == 0 ? pass.input : pass.active[layer - 1];
    for (Eigen::Index worker = 0; worker < workers; ++worker) {
      std::vector<float>& flat = out[static_cast<std::size_t>(worker)];
      const auto part = above.middleRows(worker * size, size);
      mutable_tensor(flat, tensors_[static_cast<std::size_t>(weight_[layer])]).noalias() =
          below.middleRows(worker * size, size).transpose() * part;
      mutable_tensor(flat, tensors_[static_cast<std::size_t>(bias_[layer])]).row(0) =
          part.colwise().sum();
    }
    if (layer > 0 || table_ >= 0) {
      const Matrix down =
          above * tensor(parameters, static_cast<std::size_t>(weight_[layer])).transpose();
      above = down;
    }
  }
  if (table_ >= 0) {
    for (Eigen::Index row = 0; row < rows; ++row) {
      auto table = mutable_tensor(out[static_cast<std::size_t>(row / size)],
                                  tensors_[static_cast<std::size_t>(table_)]);
      for (int place = 0; place < shape_.context; ++place)
        table.row(samples.tokens[static_cast<std::size_t>(row * shape_.context + place)]) +=
            above.row(row).segment(place * shape_.embedding, shape_.embedding);
    }
  }
  return pass.loss;
}
}  // namespace stepcast::runtime
