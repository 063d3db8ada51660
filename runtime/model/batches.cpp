#include "runtime/model/batches.hpp"

#include <cmath>

#include "runtime/device/kernels.hpp"
#include "runtime/model/synthetic_data.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
/// 4-byte values of a whole step, on the host and on the device.
class Array {
 public:
  Array(Device& device, std::int64_t values)
      : host_(device, Bytes(values * 4), MemoryKind::pinned_host),
        here_(device, Bytes(values * 4)) {}
  template <class T>
  T* values() const {
    return host_.view().template as<T>();
  }
  void send(Device& device, Stream& stream) {
    device.copy(stream, here_.data(), host_.data(), here_.bytes());
  }
  View view(std::int64_t at) const { return here_.view(at); }

 private:
  Buffer host_, here_;
};

/// Values that enter products: narrowed on the device where it trains in fewer bits.
class Activations {
 public:
  Activations(Device& device, std::int64_t values, Precision precision) : wide_(device, values) {
    if (precision != Precision::fp32) narrow_ = Buffer(device, values, precision);
    values_ = values;
  }
  float* values() const { return wide_.values<float>(); }
  void send(Device& device, Stream& stream) {
    wide_.send(device, stream);
    if (narrow_.data() != nullptr)
      device.kernels().cast(stream, wide_.view(0), narrow_.view(), values_);
  }
  View view(std::int64_t at) const {
    return narrow_.data() != nullptr ? narrow_.view(at) : wide_.view(at);
  }

 private:
  Array wide_;
  Buffer narrow_;
  std::int64_t values_ = 0;
};

struct Numbering {
  std::int64_t samples = 0, per_micro_batch = 0, first_sample = 0;
  std::uint64_t seed = 0;
};

class TokenBatches final : public Batches {
 public:
  TokenBatches(Device& device, const Numbering& n, std::int64_t length, std::int64_t vocabulary)
      : device_(device),
        n_(n),
        length_(length),
        vocabulary_(vocabulary),
        ids_(device, n.samples * length),
        targets_(device, n.samples * length) {}
  void load(Stream& stream, std::int64_t step) override {
    const auto row = [this](const Array& array, std::int64_t sample) {
      return std::span(array.values<std::int32_t>() + sample * length_,
                       static_cast<std::size_t>(length_));
    };
    for (std::int64_t sample = 0; sample < n_.samples; ++sample)
      synthetic_tokens(n_.seed, step, n_.first_sample + sample, vocabulary_, row(ids_, sample),
                       row(targets_, sample));
    ids_.send(device_, stream);
    targets_.send(device_, stream);
    stream.synchronise();
  }
  MicroBatch micro_batch(int index) const override {
    const std::int64_t at = index * n_.per_micro_batch * length_;
    return {.index = index, .ids = ids_.view(at), .targets = targets_.view(at)};
  }

 private:
  Device& device_;
  Numbering n_;
  std::int64_t length_, vocabulary_;
  Array ids_, targets_;  // (samples, T)
};

class ImageBatches final : public Batches {
 public:
  ImageBatches(Device& device, const Numbering& n, const CnnSpec& model, Precision precision)
      : device_(device),
        n_(n),
        size_(model.image),
        classes_(model.classes),
        pixels_(device, n.samples * values_per_image(), precision),
        targets_(device, n.samples) {}
  void load(Stream& stream, std::int64_t step) override {
    for (std::int64_t sample = 0; sample < n_.samples; ++sample)
      targets_.values<std::int32_t>()[sample] =
          synthetic_image(n_.seed, step, n_.first_sample + sample, size_, classes_,
                          std::span(pixels_.values() + sample * values_per_image(),
                                    static_cast<std::size_t>(values_per_image())));
    pixels_.send(device_, stream);
    targets_.send(device_, stream);
    stream.synchronise();
  }
  MicroBatch micro_batch(int index) const override {
    const std::int64_t at = index * n_.per_micro_batch;
    return {.index = index,
            .targets = targets_.view(at),
            .dense = pixels_.view(at * values_per_image())};
  }

 private:
  std::int64_t values_per_image() const { return 3 * size_ * size_; }
  Device& device_;
  Numbering n_;
  std::int64_t size_, classes_;
  Activations pixels_;  // (samples, H, W, 3)
  Array targets_;       // (samples)
};

class ClickBatches final : public Batches {
 public:
  ClickBatches(Device& device, const Numbering& n, const DlrmSpec& model, Precision precision)
      : device_(device),
        n_(n),
        model_(model),
        pooling_(std::llround(model.pooling)),
        dense_(device, n.samples * model.dense_features, precision),
        indices_(device, n.samples * model.tables * pooling_),
        targets_(device, n.samples) {}
  void load(Stream& stream, std::int64_t step) override {
    const std::int64_t tables = model_.tables, B = n_.per_micro_batch;
    std::vector<std::int32_t> bags(static_cast<std::size_t>(tables * pooling_));
    for (std::int64_t sample = 0; sample < n_.samples; ++sample) {
      targets_.values<float>()[sample] =
          synthetic_click(n_.seed, step, n_.first_sample + sample, model_.rows_per_table, pooling_,
                          std::span(dense_.values() + sample * model_.dense_features,
                                    static_cast<std::size_t>(model_.dense_features)),
                          bags);
      // Of a micro-batch: (tables, B, pooling), so that the part of each owner of tables is whole.
      const std::int64_t micro_batch = sample / B, row = sample % B;
      std::int32_t* out = indices_.values<std::int32_t>() + micro_batch * B * tables * pooling_;
      for (std::int64_t table = 0; table < tables; ++table)
        for (std::int64_t i = 0; i < pooling_; ++i)
          out[(table * B + row) * pooling_ + i] =
              bags[static_cast<std::size_t>(table * pooling_ + i)];
    }
    dense_.send(device_, stream);
    indices_.send(device_, stream);
    targets_.send(device_, stream);
    stream.synchronise();
  }
  MicroBatch micro_batch(int index) const override {
    const std::int64_t at = index * n_.per_micro_batch;
    return {.index = index,
            .ids = indices_.view(at * model_.tables * pooling_),
            .targets = targets_.view(at),
            .dense = dense_.view(at * model_.dense_features)};
  }

 private:
  Device& device_;
  Numbering n_;
  DlrmSpec model_;
  std::int64_t pooling_;
  Activations dense_;        // (samples, features)
  Array indices_, targets_;  // (micro-batches, tables, B, pooling), (samples) in {-1, 1}
};
}  // namespace

std::unique_ptr<Batches> new_batches(Device& device, const ModelSpec& model,
                                     const TrainingSpec& training, int micro_batches,
                                     std::int64_t first_sample, std::uint64_t seed) {
  const Numbering n{training.micro_batch * micro_batches, training.micro_batch, first_sample, seed};
  switch (model.kind) {
    case ModelKind::transformer:
      return std::make_unique<TokenBatches>(device, n, training.sequence_length,
                                            model.transformer.vocab);
    case ModelKind::cnn:
      return std::make_unique<ImageBatches>(device, n, model.cnn, training.precision);
    case ModelKind::dlrm:
      return std::make_unique<ClickBatches>(device, n, model.dlrm, training.precision);
    default:
      break;
  }
  STEPCAST_ASSERT(false, "the trainer refuses other kinds of model before it asks for batches");
  return nullptr;
}
}  // namespace stepcast::runtime
