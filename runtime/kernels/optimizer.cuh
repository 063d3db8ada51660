#pragma once
#include "runtime/kernels/reduce.cuh"

namespace stepcast::runtime {
/// sum += squares of x. Blocks add with an atomic, so the last bits of the sum depend on their
/// order.
__global__ void __launch_bounds__(kThreads)
    square_sum_kernel(const float* x, float* sum, std::int64_t elements) {
  __shared__ float shared[32];
  float squares = 0.0f;
  STEPCAST_EACH(i, elements) squares += x[i] * x[i];
  squares = block_sum(squares, shared);
  if (threadIdx.x == 0) atomicAdd(sum, squares);
}
__global__ void clip_kernel(float* x, const float* sum, float limit, std::int64_t elements) {
  const float norm = sqrtf(*sum), factor = norm > limit ? limit / norm : 1.0f;
  STEPCAST_EACH(i, elements)
  x[i] *= factor;  // always one pass: the step's time must not depend on the data
}
/// AdamW with the bias corrections folded in: `rate` = learning rate / (1 - beta1^t), `root` = 1 /
/// sqrt(1 - beta2^t), `keep` = 1 - rate decay.
template <class T>
__global__ void adam_kernel(float* master, const float* gradient, float* first, float* second,
                            T* weights, std::int64_t elements, float beta1, float beta2, float rate,
                            float root, float epsilon, float keep) {
  STEPCAST_EACH(i, elements) {
    const float g = gradient[i], m = beta1 * first[i] + (1.0f - beta1) * g,
                v = beta2 * second[i] + (1.0f - beta2) * g * g;
    first[i] = m;
    second[i] = v;
    const float w = keep * master[i] - rate * m / (sqrtf(v) * root + epsilon);
    master[i] = w;
    store(weights + i, w);
  }
}
template <class T>
__global__ void sgd_kernel(float* master, const float* gradient, float* velocity, T* weights,
                           std::int64_t elements, float rate, float momentum, float decay) {
  STEPCAST_EACH(i, elements) {
    const float v = momentum * velocity[i] + gradient[i] + decay * master[i],
                w = master[i] - rate * v;
    velocity[i] = v;
    master[i] = w;
    store(weights + i, w);
  }
}
}  // namespace stepcast::runtime
