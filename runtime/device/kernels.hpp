#pragma once
#include "runtime/device/device.hpp"
#include "sim/workload/model_spec.hpp"

/// The kernels of the training steps, asynchronous on a stream. Row-major everywhere. Activations
/// and weights come in the training's precision, gradients of weights, statistics, optimizer state
/// and losses in fp32. "+=" accumulates. Formulas stand in docs/runtime.md#kernels;
/// tests/runtime/device/kernels_test.cpp compares each with a double-precision loop.
namespace stepcast::runtime {

/// c (m, n) = beta c + op(a) (m, k) op(b) (k, n) [+ bias (n) on every row], `batch` times at the
/// strides. Leading dimensions of 0 mean dense.
struct GemmCall {
  View a, b, c;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool a_transposed = false, b_transposed = false;
  bool accumulates = false;  // beta = 1
  View bias;                 // empty: none
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
};

/// Rows of `width`: y = (x - mean) * rstd * weight + bias (layernorm); y = x * rstd * weight
/// (rmsnorm).
struct NormCall {
  NormKind kind = NormKind::layernorm;
  std::int64_t rows = 0, width = 0;
  View x, weight, bias;  // (rows, width), (width), (width)
  View mean, rstd;       // (rows) fp32; written forward, read backward
  View y;                // forward result
  View dy, dx, dweight,
      dbias;  // backward: dx is written, dweight and dbias += ; mean and bias unused by rmsnorm
};

enum class ActivationKind : std::uint8_t { gelu, swiglu, relu };
/// gelu (tanh form), relu: x (rows, width) -> y (rows, width). swiglu: x = (gate | up) (rows, 2
/// width), y = silu(gate) * up. A bias (of x's width) is added before; forward and backward both
/// take it.
struct ActivationCall {
  ActivationKind kind = ActivationKind::gelu;
  std::int64_t rows = 0, width = 0;
  View x, bias, y;
  View dy, dx;  // backward: dx is written
};

/// Attention on packed projections: qkv (B, T, (H + 2K) * D), query heads first, then keys, then
/// values.
struct AttentionCall {
  std::int64_t batch = 0, length = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool causal = true;
  View qkv, y, lse;     // y (B, T, H*D); lse (B, H, T) fp32, log-sum-exp of each row
  View dy, dq, dk, dv;  // backward: dq (B, T, H*D), dk and dv (B, T, K*D), written
  View workspace;       // at least attention_workspace() bytes
};

/// Rotary embedding, pairs (i, i + D/2), angle position / base^(2i/D); in place on `heads` heads of
/// D at row stride `row`.
struct RopeCall {
  std::int64_t batch = 0, length = 0, heads = 0, head_dim = 0, row = 0;
  float base = 10000.0f;
  bool is_backward = false;  // rotates back
  View x;
};

/// AdamW (Loshchilov 2019), bias-corrected. `weights` is what the forward reads: the master itself
/// at fp32, else a narrow copy.
struct AdamCall {
  std::int64_t elements = 0;
  View master, gradient, first, second, weights;
  float learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, weight_decay = 0.1f;
  std::int64_t step = 1;  // from 1
};
/// v = momentum v + g + decay w; w -= rate v.
struct SgdCall {
  std::int64_t elements = 0;
  View master, gradient, velocity, weights;
  float learning_rate = 0.1f, momentum = 0.9f, weight_decay = 1e-4f;
};

/// n images, NHWC, "same" padding of kernel / 2; filters (c_out, kernel, kernel, c_in).
struct ConvCall {
  ConvShape shape;
  View x, filter, y, dy, dx, dfilter;
};  // dfilter +=
/// Batch norm over rows = n * h * w of c channels, then optional relu; running statistics are not
/// kept (training only).
struct BatchNormCall {
  std::int64_t rows = 0, channels = 0;
  float epsilon = 1e-5f;
  View x, weight, bias, y, mean, rstd;  // mean, rstd (channels) fp32
  View dy, dx, dweight, dbias;
};
/// Max pooling of window 3, stride 2, padding 1 and global average, as ResNet uses them; NHWC.
struct PoolCall {
  bool is_global_average = false;
  std::int64_t n = 0, h = 0, w = 0, channels = 0;
  View x, y, indices;  // indices int32, max pooling only
  View dy, dx;
};
/// Sum of the rows `indices[offset .. )` of a table: one bag of `pooling` indices per sample.
struct EmbeddingBagCall {
  std::int64_t samples = 0, pooling = 1, rows = 0, width = 0;
  View table, indices, y, dy;
  float learning_rate = 0;
};

class Kernels {
 public:
  virtual ~Kernels() = default;

  virtual void gemm(Stream&, const GemmCall&) = 0;

  virtual void norm_forward(Stream&, const NormCall&) = 0;
  virtual void norm_backward(Stream&, const NormCall&) = 0;
  virtual void activation_forward(Stream&, const ActivationCall&) = 0;
  virtual void activation_backward(Stream&, const ActivationCall&) = 0;
  virtual Bytes attention_workspace(const AttentionCall&) const = 0;
  virtual void attention_forward(Stream&, const AttentionCall&) = 0;
  virtual void attention_backward(Stream&, const AttentionCall&) = 0;
  virtual void rope(Stream&, const RopeCall&) = 0;
  /// dqkv (rows, q + 2 kv) from its three parts (rows, q), (rows, kv), (rows, kv).
  virtual void pack_qkv(Stream&, View dq, View dk, View dv, View dqkv, std::int64_t rows,
                        std::int64_t q, std::int64_t kv) = 0;

  /// y = a + b [+ bias (width) on every row] over rows x width.
  virtual void add(Stream&, View a, View b, View bias, View y, std::int64_t rows,
                   std::int64_t width) = 0;
  /// y (fp32) += x, elementwise: gradients into accumulated gradients.
  virtual void accumulate(Stream&, View x, View y, std::int64_t elements) = 0;
  /// sums (width, fp32) += column sums of x (rows, width): gradient of a bias.
  virtual void column_sum(Stream&, View x, View sums, std::int64_t rows, std::int64_t width) = 0;
  /// y = x in another precision.
  virtual void cast(Stream&, View x, View y, std::int64_t elements) = 0;
  /// x *= factor.
  virtual void scale(Stream&, View x, float factor, std::int64_t elements) = 0;

  /// y (tokens, width) = table[id - first_row], zeros where the id lies outside [first_row,
  /// first_row + rows).
  virtual void embedding_forward(Stream&, View ids, View table, View y, std::int64_t tokens,
                                 std::int64_t width, std::int64_t first_row, std::int64_t rows) = 0;
  /// dtable (rows, width) is cleared, then rows of dy are added. Deterministic for one stream.
  virtual void embedding_backward(Stream&, View ids, View dy, View dtable, std::int64_t tokens,
                                  std::int64_t width, std::int64_t first_row,
                                  std::int64_t rows) = 0;
  /// y (B, T, C) = x + positions (T, C); backward: dpositions += sum over the batch.
  virtual void position_forward(Stream&, View x, View positions, View y, std::int64_t batch,
                                std::int64_t length, std::int64_t width) = 0;
  virtual void position_backward(Stream&, View dy, View dpositions, std::int64_t batch,
                                 std::int64_t length, std::int64_t width) = 0;

  /// Fused softmax cross-entropy: losses (rows, fp32), logits become probabilities in place.
  /// Columns from `valid` on are padding.
  virtual void loss_forward(Stream&, View logits, View targets, View losses, std::int64_t rows,
                            std::int64_t width, std::int64_t valid) = 0;
  /// probabilities become the gradient in place: (p - onehot(target)) * scale.
  virtual void loss_backward(Stream&, View probabilities, View targets, float scale,
                             std::int64_t rows, std::int64_t width) = 0;
  /// The same with the vocabulary split over ranks: this rank holds columns [first, first + width).
  /// statistics (rows, 2) fp32: maximum; then, once the maximum over ranks is there, (sum of exp,
  /// exponent of the target).
  virtual void split_loss_max(Stream&, View logits, View maxima, std::int64_t rows,
                              std::int64_t width, std::int64_t valid) = 0;
  virtual void split_loss_sum(Stream&, View logits, View targets, View maxima, View sums,
                              std::int64_t rows, std::int64_t width, std::int64_t first,
                              std::int64_t valid) = 0;
  virtual void split_loss_finish(Stream&, View logits, View maxima, View sums, View losses,
                                 std::int64_t rows, std::int64_t width, std::int64_t first,
                                 std::int64_t valid) = 0;
  virtual void split_loss_backward(Stream&, View probabilities, View targets, float scale,
                                   std::int64_t rows, std::int64_t width, std::int64_t first) = 0;

  /// sum (1, fp32) += squares of x (fp32).
  virtual void square_sum(Stream&, View x, View sum, std::int64_t elements) = 0;
  /// x *= min(1, limit / sqrt(sum)): clip by global norm; `sum` stays on the device, so the host
  /// does not wait.
  virtual void clip(Stream&, View x, View sum, float limit, std::int64_t elements) = 0;
  virtual void adam(Stream&, const AdamCall&) = 0;
  virtual void sgd(Stream&, const SgdCall&) = 0;

  virtual void conv_forward(Stream&, const ConvCall&) = 0;
  virtual void conv_backward_data(Stream&, const ConvCall&) = 0;
  virtual void conv_backward_weight(Stream&, const ConvCall&) = 0;
  virtual void batch_norm_forward(Stream&, const BatchNormCall&) = 0;
  virtual void batch_norm_backward(Stream&, const BatchNormCall&) = 0;
  virtual void pool_forward(Stream&, const PoolCall&) = 0;
  virtual void pool_backward(Stream&, const PoolCall&) = 0;

  virtual void embedding_bag_forward(Stream&, const EmbeddingBagCall&) = 0;
  /// Plain SGD on the touched rows: table[i] -= rate * dy.
  virtual void embedding_bag_update(Stream&, const EmbeddingBagCall&) = 0;
  /// Lower triangle (without diagonal) of z z^T for `features` vectors of `width` per sample,
  /// behind the first vector: y (samples, width + features (features - 1) / 2).
  virtual void interaction_forward(Stream&, View z, View y, std::int64_t samples,
                                   std::int64_t features, std::int64_t width) = 0;
  virtual void interaction_backward(Stream&, View z, View dy, View dz, std::int64_t samples,
                                    std::int64_t features, std::int64_t width) = 0;
  /// Mean over samples of log(1 + exp(-y logit)) with y in {-1, 1}; dlogits written, losses
  /// (samples).
  virtual void binary_loss(Stream&, View logits, View targets, View losses, View dlogits,
                           std::int64_t samples, float scale) = 0;
};
}  // namespace stepcast::runtime
