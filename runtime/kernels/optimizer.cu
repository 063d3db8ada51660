#include "runtime/kernels/optimizer.cuh"

#include <cmath>

#include "runtime/kernels/launch.hpp"

namespace stepcast::runtime::launch {
namespace {
/// At fp32 the master may be what the forward reads; the kernel then writes it twice with one
/// value.
View weights_of(View weights, View master) { return weights ? weights : master; }
}  // namespace
void square_sum(CudaStream stream, View x, View sum, std::int64_t elements) {
  STEPCAST_LAUNCH((square_sum_kernel), grid_of(elements), kThreads, 0, stream, x.as<float>(),
                  sum.as<float>(), elements);
}
void clip(CudaStream stream, View x, View sum, float limit, std::int64_t elements) {
  STEPCAST_LAUNCH((clip_kernel), grid_of(elements), kThreads, 0, stream, x.as<float>(),
                  sum.as<float>(), limit, elements);
}
void adam(CudaStream stream, const AdamCall& a) {
  const auto step = static_cast<double>(a.step);
  const double correction1 = 1.0 - std::pow(static_cast<double>(a.beta1), step),
               correction2 = 1.0 - std::pow(static_cast<double>(a.beta2), step);
  const auto rate = static_cast<float>(static_cast<double>(a.learning_rate) / correction1),
             root = static_cast<float>(1.0 / std::sqrt(correction2));
  const View weights = weights_of(a.weights, a.master);
  by_precision(weights.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((adam_kernel<T>), grid_of(a.elements), kThreads, 0, stream,
                    a.master.as<float>(), a.gradient.as<float>(), a.first.as<float>(),
                    a.second.as<float>(), weights.as<T>(), a.elements, a.beta1, a.beta2, rate, root,
                    a.epsilon, 1.0f - a.learning_rate * a.weight_decay);
  });
}
void sgd(CudaStream stream, const SgdCall& s) {
  const View weights = weights_of(s.weights, s.master);
  by_precision(weights.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((sgd_kernel<T>), grid_of(s.elements), kThreads, 0, stream, s.master.as<float>(),
                    s.gradient.as<float>(), s.velocity.as<float>(), weights.as<T>(), s.elements,
                    s.learning_rate, s.momentum, s.weight_decay);
  });
}
}  // namespace stepcast::runtime::launch
