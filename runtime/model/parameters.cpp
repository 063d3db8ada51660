#include "runtime/model/parameters.hpp"

#include "runtime/device/kernels.hpp"
#include "sim/core/random.hpp"

namespace stepcast::runtime {
namespace {
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t bits = 0;
  for (const char letter : name) bits = mixed_bits(bits, static_cast<std::uint64_t>(letter));
  return bits;
}
}  // namespace

std::size_t Parameters::add(Parameter parameter) {
  parameter.offset = used_;
  if (parameter.global_columns == 0) parameter.global_columns = parameter.columns;
  if (parameter.pieces.empty()) parameter.pieces.push_back({parameter.rows, 0});
  used_ += parameter.elements();
  list_.push_back(std::move(parameter));
  return list_.size() - 1;
}

void Parameters::allocate(Device& device, Precision precision, std::int64_t granularity) {
  device_ = &device;
  precision_ = precision;
  elements_ = (used_ + granularity - 1) / granularity * granularity;
  master_ = Buffer(device, elements_, Precision::fp32);
  gradients_ = Buffer(device, elements_, Precision::fp32);
  if (precision != Precision::fp32) narrow_ = Buffer(device, elements_, precision);
}

void Parameters::initialise(Stream& stream, std::uint64_t seed) {
  Buffer host(*device_, Bytes(elements_ * 4), MemoryKind::pinned_host);
  float* values = host.view().as<float>();
  std::fill(values, values + elements_, 0.0f);
  for (const Parameter& p : list_) {
    const std::uint64_t key = mixed_bits(seed, hash_of(p.name));
    float* out = values + p.offset;
    for (const RowPiece& piece : p.pieces)
      for (std::int64_t row = 0; row < piece.rows; ++row)
        for (std::int64_t column = 0; column < p.columns; ++column) {
          const std::int64_t element =
              (piece.global + row) * p.global_columns + p.first_column + column;
          *out++ = static_cast<float>(
              p.deviation > 0 ? p.deviation * normal_from_bits(mixed_bits(
                                                  key, static_cast<std::uint64_t>(element)))
                              : p.constant);
        }
  }
  device_->copy(stream, master_.data(), values, Bytes(elements_ * 4));
  device_->fill_zero(stream, gradients_.data(), Bytes(elements_ * 4));
  if (precision_ != Precision::fp32)
    device_->kernels().cast(stream, master(), narrow_.view(), elements_);
  stream.synchronise();
}

std::vector<std::pair<std::int64_t, std::int64_t>> Parameters::ranges(bool replicated) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const Parameter& p : list_) {
    if (p.is_replicated != replicated) continue;
    if (!ranges.empty() && ranges.back().second == p.offset)
      ranges.back().second = p.offset + p.elements();
    else
      ranges.emplace_back(p.offset, p.offset + p.elements());
  }
  return ranges;
}
}  // namespace stepcast::runtime
