#pragma once
#include <cmath>
#include <compare>
#include <cstdint>

/// Tagged quantities. Inside the project every value is SI: seconds, bytes, flops; conversion from
/// and to other units happens in sim/io only. A FLOP count takes a multiply-add as two.
namespace stepcast {

template <class Tag, class Rep>
struct Quantity {
  Rep value{};
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value + b.value);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value - b.value);
  }
  friend constexpr Quantity operator*(Quantity a, Rep f) { return Quantity(a.value * f); }
  friend constexpr Quantity operator*(Rep f, Quantity a) { return Quantity(a.value * f); }
  friend constexpr Quantity operator/(Quantity a, Rep f) { return Quantity(a.value / f); }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value) / static_cast<double>(b.value);
  }
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
};

using Seconds = Quantity<struct SecondsTag, double>;
/// Exact byte count; a fraction of a byte is an input error upstream.
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

constexpr Seconds operator/(Bytes b, BytesPerSecond r) {
  return Seconds(static_cast<double>(b.value) / r.value);
}
constexpr Seconds operator/(Flops f, FlopsPerSecond r) { return Seconds(f.value / r.value); }
constexpr Bytes scaled(Bytes b, double factor) {
  return Bytes(static_cast<std::int64_t>(static_cast<double>(b.value) * factor + 0.5));
}

/// Timelines hold integer nanoseconds; spans are half-open [start, end).
using Nanoseconds = std::int64_t;
inline Nanoseconds ns_from_seconds(Seconds s) { return std::llround(s.value * 1e9); }
constexpr Seconds seconds_from_ns(Nanoseconds ns) {
  return Seconds(static_cast<double>(ns) * 1e-9);
}

namespace literals {
constexpr Seconds operator""_s(long double v) { return Seconds(static_cast<double>(v)); }
constexpr Seconds operator""_s(unsigned long long v) { return Seconds(static_cast<double>(v)); }
constexpr Seconds operator""_ms(long double v) { return Seconds(static_cast<double>(v) * 1e-3); }
constexpr Seconds operator""_ms(unsigned long long v) {
  return Seconds(static_cast<double>(v) * 1e-3);
}
constexpr Seconds operator""_us(long double v) { return Seconds(static_cast<double>(v) * 1e-6); }
constexpr Seconds operator""_us(unsigned long long v) {
  return Seconds(static_cast<double>(v) * 1e-6);
}
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(static_cast<std::int64_t>(v)); }
constexpr Bytes operator""_MB(unsigned long long v) {
  return Bytes(static_cast<std::int64_t>(v) * 1'000'000);
}
constexpr Bytes operator""_GB(unsigned long long v) {
  return Bytes(static_cast<std::int64_t>(v) * 1'000'000'000);
}
constexpr Bytes operator""_KiB(unsigned long long v) {
  return Bytes(static_cast<std::int64_t>(v) << 10);
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes(static_cast<std::int64_t>(v) << 20);
}
constexpr Bytes operator""_GiB(unsigned long long v) {
  return Bytes(static_cast<std::int64_t>(v) << 30);
}
constexpr BytesPerSecond operator""_GBps(unsigned long long v) {
  return BytesPerSecond(static_cast<double>(v) * 1e9);
}
constexpr BytesPerSecond operator""_GBps(long double v) {
  return BytesPerSecond(static_cast<double>(v) * 1e9);
}
constexpr FlopsPerSecond operator""_TFLOPps(unsigned long long v) {
  return FlopsPerSecond(static_cast<double>(v) * 1e12);
}
}  // namespace literals
}  // namespace stepcast
