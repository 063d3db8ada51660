#include <cublasLt.h>

#include <cstring>
#include <vector>

#include "runtime/compress/number_formats.hpp"
#include "tests/runtime/doubles/control.hpp"

/// A double of libcublasLt.so.13: column-major products by plain loops, as stream work. fp32 and
/// bf16, bias epilogue, strided batches.
using namespace stepcast::runtime;
namespace {
struct Desc {
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  cudaDataType_t bias_type = CUDA_R_32F;
};
struct Layout {
  cudaDataType_t type;
  std::int64_t rows, cols, leading, stride = 0;
  std::int32_t batch = 1;
};
struct Product {
  Desc desc;
  Layout la, lb, lc;
  const void *a, *b;
  void* c;
  float alpha, beta;
};
/// Bytes that an algorithm may expect the matrices to be aligned to; 256 unless told, as in
/// cuBLASLt.
struct Alignments {
  std::uint32_t a = 256, b = 256, c = 256, d = 256;
};
static_assert(sizeof(Alignments) <= sizeof(cublasLtMatmulAlgo_t), "kept in the algorithm");
bool is_aligned(const void* data, std::uint32_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}
int live = 0;

float read(const void* data, cudaDataType_t type, std::int64_t i) {
  return type == CUDA_R_16BF ? float_of_bf16(static_cast<const std::uint16_t*>(data)[i])
                             : static_cast<const float*>(data)[i];
}
void write(void* data, cudaDataType_t type, std::int64_t i, float value) {
  if (type == CUDA_R_16BF)
    static_cast<std::uint16_t*>(data)[i] = bf16_of(value);
  else
    static_cast<float*>(data)[i] = value;
}
void run(void* data) {
  auto* p = static_cast<Product*>(data);
  const std::int64_t m = p->lc.rows, n = p->lc.cols,
                     k = p->desc.a == CUBLAS_OP_N ? p->la.cols : p->la.rows;
  for (std::int64_t batch = 0; batch < p->lc.batch; ++batch)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const std::int64_t at_a =
              batch * p->la.stride +
              (p->desc.a == CUBLAS_OP_N ? i + l * p->la.leading : l + i * p->la.leading);
          const std::int64_t at_b =
              batch * p->lb.stride +
              (p->desc.b == CUBLAS_OP_N ? l + j * p->lb.leading : j + l * p->lb.leading);
          sum += static_cast<double>(read(p->a, p->la.type, at_a)) *
                 static_cast<double>(read(p->b, p->lb.type, at_b));
        }
        const std::int64_t at = batch * p->lc.stride + i + j * p->lc.leading;
        double value = static_cast<double>(p->alpha) * sum;
        if (p->beta != 0.0f) value += static_cast<double>(p->beta * read(p->c, p->lc.type, at));
        if (p->desc.epilogue == CUBLASLT_EPILOGUE_BIAS)
          value += static_cast<double>(read(p->desc.bias, p->desc.bias_type, i));
        write(p->c, p->lc.type, at, static_cast<float>(value));
      }
  delete p;
}
}  // namespace

#define FAIL_IF_ASKED() \
  if (stepcast_double_must_fail(__func__)) return CUBLAS_STATUS_INTERNAL_ERROR
extern "C" {
int stepcast_double_cublas_live() { return live; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  FAIL_IF_ASKED();
  ++live;
  *handle = reinterpret_cast<cublasLtHandle_t>(&live);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return --live, CUBLAS_STATUS_SUCCESS; }
size_t cublasLtGetVersion() { return 130000; }
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INTERNAL_ERROR ? "CUBLAS_STATUS_INTERNAL_ERROR"
                                                : "CUBLAS_STATUS_INVALID_VALUE";
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t,
                                        cudaDataType_t) {
  FAIL_IF_ASKED();
  ++live;
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  --live;
  delete reinterpret_cast<Desc*>(desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t size) {
  FAIL_IF_ASKED();
  auto* own = reinterpret_cast<Desc*>(desc);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      std::memcpy(&own->a, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      std::memcpy(&own->b, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      std::memcpy(&own->epilogue, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      std::memcpy(&own->bias, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      std::memcpy(&own->bias_type, value, size);
      break;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t leading) {
  FAIL_IF_ASKED();
  if (leading < static_cast<std::int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  ++live;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols), leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  --live;
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t size) {
  FAIL_IF_ASKED();
  auto* own = reinterpret_cast<Layout*>(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    std::memcpy(&own->batch, value, size);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    std::memcpy(&own->stride, value, size);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  FAIL_IF_ASKED();
  ++live;
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Alignments);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Alignments*>(preference);
  return --live, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t size) {
  FAIL_IF_ASKED();
  auto* own = reinterpret_cast<Alignments*>(preference);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      std::memcpy(&own->a, value, size);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      std::memcpy(&own->b, value, size);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      std::memcpy(&own->c, value, size);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      std::memcpy(&own->d, value, size);
      break;
    default:
      break;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  FAIL_IF_ASKED();
  std::memcpy(&results[0].algo, reinterpret_cast<Alignments*>(preference), sizeof(Alignments));
  const auto* own = reinterpret_cast<Desc*>(desc);
  const auto *la = reinterpret_cast<Layout*>(a), *lb = reinterpret_cast<Layout*>(b),
             *lc = reinterpret_cast<Layout*>(c);
  const std::int64_t m = own->a == CUBLAS_OP_N ? la->rows : la->cols,
                     ka = own->a == CUBLAS_OP_N ? la->cols : la->rows;
  const std::int64_t kb = own->b == CUBLAS_OP_N ? lb->rows : lb->cols,
                     n = own->b == CUBLAS_OP_N ? lb->cols : lb->rows;
  *found = 1;
  return m == lc->rows && n == lc->cols && ka == kb
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_INVALID_VALUE;  // shapes must fit together
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t la, const void* b,
                              cublasLtMatrixLayout_t lb, const void* beta, const void*,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algorithm, void*, size_t,
                              cudaStream_t stream) {
  FAIL_IF_ASKED();
  const auto needed = *reinterpret_cast<const Alignments*>(algorithm);
  if (!is_aligned(a, needed.a) || !is_aligned(b, needed.b) || !is_aligned(d, needed.d))
    return CUBLAS_STATUS_INVALID_VALUE;
  auto* product = new Product{*reinterpret_cast<Desc*>(desc),
                              *reinterpret_cast<Layout*>(la),
                              *reinterpret_cast<Layout*>(lb),
                              *reinterpret_cast<Layout*>(ld),
                              a,
                              b,
                              d,
                              *static_cast<const float*>(alpha),
                              *static_cast<const float*>(beta)};
  return stepcast_double_launch(stream, run, product, "product") == cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}
}  // extern "C"
