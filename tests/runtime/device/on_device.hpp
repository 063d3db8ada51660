#pragma once
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/backend/backend.hpp"
#include "runtime/device/kernels.hpp"
#include "sim/core/random.hpp"
#include "tests/runtime/device/backend_under_test.hpp"
#include "tests/support/test.hpp"

namespace stepcast::runtime::test {
/// A device of the backend under test with vectors in and out.
class OnDevice {
 public:
  OnDevice()
      : backend_(backend_of(backend_under_test())),
        device_(backend_->open(0)),
        stream_(device_->new_stream("test")) {}
  Device& device() { return *device_; }
  Kernels& kernels() { return device_->kernels(); }
  Stream& stream() { return *stream_; }

  template <class T>
  View put(const std::vector<T>& values) {
    const Bytes bytes(static_cast<std::int64_t>(values.size() * sizeof(T)));
    buffers_.emplace_back(*device_, bytes);
    Buffer host(*device_, bytes, MemoryKind::pinned_host);
    std::memcpy(host.data(), values.data(), values.size() * sizeof(T));
    device_->copy(*stream_, buffers_.back().data(), host.data(), bytes);
    stream_->synchronise();
    return buffers_.back().view();
  }
  View zeros(std::int64_t elements) {
    return put(std::vector<float>(static_cast<std::size_t>(elements), 0.0f));
  }
  std::vector<float> get(View view, std::int64_t elements) {
    Buffer host(*device_, Bytes(elements * 4), MemoryKind::pinned_host);
    device_->copy(*stream_, host.data(), view.data, Bytes(elements * 4));
    stream_->synchronise();
    return {host.view().as<float>(), host.view().as<float>() + elements};
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::vector<Buffer> buffers_;
};

inline std::vector<float> normal_numbers(std::int64_t count, std::uint64_t seed,
                                         double deviation = 1) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(
        deviation * normal_from_bits(mixed_bits(seed, static_cast<std::uint64_t>(i)))));
  return values;
}
/// Largest |got - wanted| over the largest |wanted|.
template <class Got, class Wanted>
double relative_error(const Got& got, const Wanted& wanted) {
  double worst = 0, scale = 1e-30;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
    scale = std::max(scale, std::abs(static_cast<double>(wanted[i])));
  }
  return worst / scale;
}
}  // namespace stepcast::runtime::test
