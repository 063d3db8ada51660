#pragma once
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/compress/number_formats.hpp"
#include "runtime/kernels/emulation.hpp"
#include "runtime/kernels/launch.hpp"
#include "sim/core/random.hpp"
#include "tests/support/test.hpp"

/// Kernels run as compiled for the emulation, under each schedule, against loops in double
/// precision.
namespace stepcast::runtime {
inline std::vector<float> random_values(std::int64_t n, std::uint64_t seed, float scale = 1.0f) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = scale * static_cast<float>(normal_from_bits(mixed_bits(seed, i)));
  return values;
}
/// The values as the device holds them: floats, or bf16 codes behind a float-sized vector.
class Operand {
 public:
  Operand(std::vector<float> values, Precision precision = Precision::fp32)
      : precision_(precision), values_(std::move(values)) {
    if (precision_ != Precision::bf16) return;
    for (float& value : values_) {
      codes_.push_back(bf16_of(value));
      value = float_of_bf16(codes_.back());
    }
  }
  View view() {
    return {precision_ == Precision::bf16 ? static_cast<void*>(codes_.data()) : values_.data(),
            precision_};
  }
  /// What it holds now.
  std::vector<float> read() const {
    if (precision_ != Precision::bf16) return values_;
    std::vector<float> values;
    for (const std::uint16_t code : codes_) values.push_back(float_of_bf16(code));
    return values;
  }
  double operator[](std::int64_t i) const {
    return static_cast<double>(read_one(static_cast<std::size_t>(i)));
  }

 private:
  float read_one(std::size_t i) const {
    return precision_ == Precision::bf16 ? float_of_bf16(codes_[i]) : values_[i];
  }
  Precision precision_;
  std::vector<float> values_;
  std::vector<std::uint16_t> codes_;
};
inline Operand zeros(std::int64_t n, Precision precision = Precision::fp32) {
  return {std::vector<float>(static_cast<std::size_t>(n)), precision};
}

/// Every element within `absolute` + `relative` |expected|; bf16 results carry 2^-8 of rounding on
/// top.
inline void require_close(const std::vector<float>& actual, const std::vector<double>& expected,
                          double relative, double absolute) {
  REQUIRE(actual.size() == expected.size());
  std::size_t worst = 0;
  double excess = -1;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double off = std::fabs(static_cast<double>(actual[i]) - expected[i]) - absolute -
                       relative * std::fabs(expected[i]);
    if (!(off <= excess)) excess = off, worst = i;
  }
  INFO("element " << worst << ": " << actual[worst] << " against " << expected[worst]);
  REQUIRE(excess <= 0);
}
template <class Body>
void under_each_schedule(const Body& body) {
  using emulation::Schedule;
  for (const Schedule schedule : {Schedule::in_order, Schedule::shuffled, Schedule::adversarial}) {
    INFO("schedule " << static_cast<int>(schedule));
    emulation::set_schedule(schedule, 7);
    body();
  }
  emulation::set_schedule(Schedule::in_order);
}
inline double tolerance_of(Precision precision) {
  return precision == Precision::bf16 ? 0x1p-7 : 2e-5;
}
constexpr Precision kPrecisions[] = {Precision::fp32, Precision::bf16};
}  // namespace stepcast::runtime
