#include "runtime/cuda/cublaslt.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/library.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
constexpr std::int64_t kWorkspace = 32ll
                                    << 20;  // bytes; what NVIDIA's samples give on Hopper and later

struct Api {
  Library library{"libcublasLt.so.13", "the CUDA toolkit's cuBLAS"};
  decltype(::cublasLtCreate)* create;
  decltype(::cublasLtDestroy)* destroy;
  decltype(::cublasLtGetVersion)* version;
  decltype(::cublasLtMatmulDescCreate)* desc_create;
  decltype(::cublasLtMatmulDescDestroy)* desc_destroy;
  decltype(::cublasLtMatmulDescSetAttribute)* desc_set;
  decltype(::cublasLtMatrixLayoutCreate)* layout_create;
  decltype(::cublasLtMatrixLayoutDestroy)* layout_destroy;
  decltype(::cublasLtMatrixLayoutSetAttribute)* layout_set;
  decltype(::cublasLtMatmulPreferenceCreate)* preference_create;
  decltype(::cublasLtMatmulPreferenceDestroy)* preference_destroy;
  decltype(::cublasLtMatmulPreferenceSetAttribute)* preference_set;
  decltype(::cublasLtMatmulAlgoGetHeuristic)* heuristic;
  decltype(::cublasLtMatmul)* matmul;
  decltype(::cublasLtGetStatusString)* status_text;
  Api() {
    library.find(create, "cublasLtCreate");
    library.find(destroy, "cublasLtDestroy");
    library.find(version, "cublasLtGetVersion");
    library.find(desc_create, "cublasLtMatmulDescCreate");
    library.find(desc_destroy, "cublasLtMatmulDescDestroy");
    library.find(desc_set, "cublasLtMatmulDescSetAttribute");
    library.find(layout_create, "cublasLtMatrixLayoutCreate");
    library.find(layout_destroy, "cublasLtMatrixLayoutDestroy");
    library.find(layout_set, "cublasLtMatrixLayoutSetAttribute");
    library.find(preference_create, "cublasLtMatmulPreferenceCreate");
    library.find(preference_destroy, "cublasLtMatmulPreferenceDestroy");
    library.find(preference_set, "cublasLtMatmulPreferenceSetAttribute");
    library.find(heuristic, "cublasLtMatmulAlgoGetHeuristic");
    library.find(matmul, "cublasLtMatmul");
    library.find(status_text, "cublasLtGetStatusString");
  }
};
Api& api() {
  static Api instance;
  return instance;
}
void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw EnvironmentError(std::string(call) + " failed with " + api().status_text(status));
}
cudaDataType_t type_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return CUDA_R_32F;
    case Precision::fp16:
      return CUDA_R_16F;
    case Precision::bf16:
      return CUDA_R_16BF;
    default:
      break;
  }
  throw EnvironmentError(
      "the cuda backend multiplies fp32, tf32, fp16 and bf16; fp8 and int8 products need scales, "
      "which the seam does not carry yet");
}
/// Bytes that the pointer is a multiple of, up to the 256 that cuBLASLt takes for granted unless
/// told: a weight in the middle of the arena has less, and an algorithm that needs more would fail.
std::uint32_t alignment_of(const View& view) {
  const auto address = reinterpret_cast<std::uintptr_t>(view.data) | 256;
  return static_cast<std::uint32_t>(address & (~address + 1));
}
std::int64_t or_dense(std::int64_t leading, std::int64_t dense) {
  return leading != 0 ? leading : dense;
}
}  // namespace

/// Row-major c = op(a) op(b) is column-major c' = op(b)' op(a)': operands change places,
/// transpositions stay.
struct CublasLt::Plan {
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t b = nullptr, a = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};

  Plan() = default;
  /// Apart from the constructor, so that a failure half-way gives back what was made.
  void build(const GemmCall& g) {
    const bool is_tf32 = g.a.precision == Precision::tf32 || g.b.precision == Precision::tf32;
    check(api().desc_create(&desc, is_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                            CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, g.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, g.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (g.bias) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(g.bias.precision));
    }
    layout(&b, g.b, g.b_transposed ? g.k : g.n, g.b_transposed ? g.n : g.k,
           or_dense(g.ldb, g.b_transposed ? g.k : g.n), g.batch, g.stride_b);
    layout(&a, g.a, g.a_transposed ? g.m : g.k, g.a_transposed ? g.k : g.m,
           or_dense(g.lda, g.a_transposed ? g.m : g.k), g.batch, g.stride_a);
    layout(&c, g.c, g.n, g.m, or_dense(g.ldc, g.n), g.batch, g.stride_c);
  }
  ~Plan() {
    if (c != nullptr) api().layout_destroy(c);
    if (a != nullptr) api().layout_destroy(a);
    if (b != nullptr) api().layout_destroy(b);
    if (desc != nullptr) api().desc_destroy(desc);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(api().desc_set(desc, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  static void layout(cublasLtMatrixLayout_t* to, const View& view, std::int64_t rows,
                     std::int64_t cols, std::int64_t leading, std::int64_t batch,
                     std::int64_t stride) {
    check(api().layout_create(to, type_of(view.precision), static_cast<std::uint64_t>(rows),
                              static_cast<std::uint64_t>(cols), leading),
          "cublasLtMatrixLayoutCreate");
    if (batch == 1) return;
    const auto count = static_cast<std::int32_t>(batch);
    check(api().layout_set(*to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
          "cublasLtMatrixLayoutSetAttribute");
    check(
        api().layout_set(*to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        "cublasLtMatrixLayoutSetAttribute");
  }
  void choose(cublasLtHandle_t handle, const GemmCall& g) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(api().preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const auto bytes = static_cast<std::uint64_t>(kWorkspace);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    cublasStatus_t status = api().preference_set(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
    const std::pair<cublasLtMatmulPreferenceAttributes_t, std::uint32_t> alignments[] = {
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(g.b)},  // operands changed places
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(g.a)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(g.c)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(g.c)}};
    for (const auto& [attribute, alignment] : alignments)
      if (status == CUBLAS_STATUS_SUCCESS)
        status = api().preference_set(preference, attribute, &alignment, sizeof alignment);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = api().heuristic(handle, desc, b, a, c, c, preference, 1, &result, &found);
    api().preference_destroy(preference);
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0)
      throw EnvironmentError("cuBLASLt has no algorithm for the product m=" + std::to_string(g.m) +
                             " n=" + std::to_string(g.n) + " k=" + std::to_string(g.k));
    algorithm = result.algo;
  }
};

CublasLt::CublasLt(CudaDevice& device) : device_(device) {}
CublasLt::~CublasLt() {
  plans_.clear();
  if (handle_ != nullptr) api().destroy(handle_);
}
std::size_t CublasLt::version() { return api().version(); }
void CublasLt::open() {
  if (handle_ != nullptr) return;
  device_.use();
  check(api().create(&handle_), "cublasLtCreate");
}
CublasLt::Plan& CublasLt::plan_of(const GemmCall& g) {
  const std::vector<std::int64_t> key{g.m,
                                      g.n,
                                      g.k,
                                      g.batch,
                                      g.a_transposed,
                                      g.b_transposed,
                                      static_cast<int>(g.a.precision),
                                      static_cast<int>(g.b.precision),
                                      static_cast<int>(g.c.precision),
                                      g.bias ? 1 + static_cast<int>(g.bias.precision) : 0,
                                      g.lda,
                                      g.ldb,
                                      g.ldc,
                                      g.stride_a,
                                      g.stride_b,
                                      g.stride_c,
                                      alignment_of(g.a),
                                      alignment_of(g.b),
                                      alignment_of(g.c)};
  std::unique_ptr<Plan>& plan = plans_[key];
  if (plan == nullptr) {
    auto fresh = std::make_unique<Plan>();
    fresh->build(g);
    fresh->choose(handle_, g);
    plan = std::move(fresh);
  }
  return *plan;
}
void CublasLt::gemm(CudaStream& stream, const GemmCall& g) {
  const std::lock_guard lock(mutex_);
  open();
  Plan& plan = plan_of(g);
  if (g.bias) plan.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, g.bias.data);
  const View workspace = stream.scratch(Bytes(kWorkspace));
  const float alpha = 1.0f, beta = g.accumulates ? 1.0f : 0.0f;
  check(api().matmul(handle_, plan.desc, &alpha, g.b.data, plan.b, g.a.data, plan.a, &beta,
                     g.c.data, plan.c, g.c.data, plan.c, &plan.algorithm, workspace.data,
                     static_cast<std::size_t>(kWorkspace), stream.handle()),
        "cublasLtMatmul");
}
}  // namespace stepcast::runtime
