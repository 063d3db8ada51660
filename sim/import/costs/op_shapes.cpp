#include "sim/import/costs/op_shapes.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace stepcast {
namespace {
using Dims = std::vector<std::vector<std::int64_t>>;
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // a dimension beyond this is damage

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
bool is_tensor(const Dims& dims, std::size_t at, std::size_t rank) {
  return at < dims.size() && dims[at].size() == rank &&
         std::all_of(dims[at].begin(), dims[at].end(), [](auto d) { return d > 0; });
}

std::optional<Precision> precision_of(const std::string& type, std::string_view kernel) {
  if (type == "float")
    return contains(kernel, "tf32") || contains(kernel, "s1688") || contains(kernel, "tensorop_s")
               ? Precision::tf32
               : Precision::fp32;
  if (type == "c10::BFloat16" || type == "BFloat16") return Precision::bf16;
  if (type == "c10::Half" || type == "Half") return Precision::fp16;
  if (contains(type, "Float8")) return Precision::fp8;
  return std::nullopt;
}
std::optional<bool> truth_of(const std::vector<std::string>& values, std::size_t at) {
  if (at >= values.size()) return std::nullopt;
  if (values[at] == "True" || values[at] == "true" || values[at] == "1") return true;
  if (values[at] == "False" || values[at] == "false" || values[at] == "0") return false;
  return std::nullopt;
}
std::optional<std::int64_t> first_number(const std::vector<std::string>& values, std::size_t at) {
  if (at >= values.size()) return std::nullopt;
  const std::string& text = values[at];
  const std::size_t digit = text.find_first_of("0123456789");
  std::int64_t value = 0;
  if (digit == std::string::npos ||
      std::from_chars(text.data() + digit, text.data() + text.size(), value).ec != std::errc{})
    return std::nullopt;
  return value;
}

std::optional<GemmShape> gemm_of(std::string_view name, const Dims& d) {
  const auto product = [&](std::size_t at) -> std::optional<GemmShape> {
    if (!is_tensor(d, at, 2) || !is_tensor(d, at + 1, 2) || d[at][1] != d[at + 1][0])
      return std::nullopt;
    return GemmShape{d[at][0], d[at + 1][1], d[at][1], 1, false};
  };
  const auto batch = [&](std::size_t at) -> std::optional<GemmShape> {
    if (!is_tensor(d, at, 3) || !is_tensor(d, at + 1, 3) || d[at][0] != d[at + 1][0] ||
        d[at][2] != d[at + 1][1])
      return std::nullopt;
    return GemmShape{d[at][1], d[at + 1][2], d[at][2], d[at][0], false};
  };
  if (name == "aten::mm" || name == "aten::_scaled_mm") return product(0);
  if (name == "aten::addmm" || name == "aten::_addmm_activation") return product(1);
  if (name == "aten::bmm") return batch(0);
  if (name == "aten::baddbmm") return batch(1);
  if (name == "aten::linear" && d.size() >= 2 && !d[0].empty() && is_tensor(d, 1, 2) &&
      is_tensor(d, 0, d[0].size()) && d[0].back() == d[1][1]) {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < d[0].size(); ++i)
      rows = std::min(kMostElements, rows * d[0][i]);
    return GemmShape{rows, d[1][0], d[1][1], 1, false};
  }
  return std::nullopt;
}

/// Where each operator keeps its queries and its mask flag, and whether heads stand before the
/// sequence.
struct AttentionSignature {
  std::string_view name;
  std::size_t query, causal;
  bool heads_first, is_backward, mask_type;
};
constexpr AttentionSignature kAttention[] = {
    {"aten::_flash_attention_forward", 0, 8, false, false, false},
    {"aten::_flash_attention_backward", 1, 11, false, true, false},
    {"aten::_scaled_dot_product_flash_attention", 0, 4, true, false, false},
    {"aten::_scaled_dot_product_flash_attention_backward", 1, 11, true, true, false},
    {"aten::_scaled_dot_product_cudnn_attention", 0, 6, true, false, false},
    {"aten::_scaled_dot_product_efficient_attention", 0, 6, true, false, false},
    {"aten::_efficient_attention_forward", 0, 9, false, false, true},
    {"flash_attn::_flash_attn_forward", 0, 5, false, false, false},
    {"flash_attn::_flash_attn_backward", 1, 11, false, true, false}};

std::optional<AttentionShape> attention_of(std::string_view name, const Dims& d,
                                           const std::vector<std::string>& values) {
  for (const AttentionSignature& s : kAttention) {
    if (name != s.name) continue;
    if (!is_tensor(d, s.query, 4) || !is_tensor(d, s.query + 1, 4) || !is_tensor(d, s.query + 2, 4))
      return std::nullopt;
    const auto causal = truth_of(values, s.causal);
    if (!causal) return std::nullopt;
    const auto &q = d[s.query], &k = d[s.query + 1], &v = d[s.query + 2];
    const std::size_t heads = s.heads_first ? 1 : 2, length = s.heads_first ? 2 : 1;
    return AttentionShape{q[0], q[heads], k[heads], q[length],    k[length],
                          q[3], v[3],     *causal,  s.is_backward};
  }
  return std::nullopt;
}

std::optional<Op> convolution_of(std::string_view name, const Dims& d,
                                 const std::vector<std::string>& values, std::string_view kernel) {
  const bool is_backward = name == "aten::convolution_backward";
  std::size_t input = 0, stride = 0, groups = 0;
  if (name == "aten::cudnn_convolution" || name == "aten::miopen_convolution")
    stride = name == "aten::miopen_convolution" ? 4 : 3,
    groups = name == "aten::miopen_convolution" ? 6 : 5;
  else if (is_backward)
    input = 1, stride = 4, groups = 9;
  else
    return std::nullopt;
  if (!is_tensor(d, input, 4) || !is_tensor(d, input + 1, 4)) return std::nullopt;
  const auto s = first_number(values, stride), g = first_number(values, groups);
  if (!s || !g || *s < 1 || *g < 1) return std::nullopt;
  Op op;
  if (is_backward) {  // one operator, two kernels: only those that say which gradient they are
    if (contains(kernel, "wgrad") || contains(kernel, "bwd_weight"))
      op.pass = Pass::backward_weight;
    else if (contains(kernel, "dgrad") || contains(kernel, "bwd_data"))
      op.pass = Pass::backward_data;
    else
      return std::nullopt;
  }
  const auto &x = d[input], &w = d[input + 1];
  op.name = "conv";
  op.shape = ConvShape{x[0], x[1], x[2], x[3], w[0], w[2], *s, *g, w[2] == w[3] ? 0 : w[3]};
  if (w[2] != w[3]) return std::nullopt;  // the profile's key knows square filters
  return op;
}
}  // namespace

std::vector<std::vector<std::int64_t>> dimensions_in(std::string_view text) {
  Dims out;
  std::size_t depth = 0;
  bool is_nested = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[') {
      if (++depth == 2) out.emplace_back(), is_nested = false;
      if (depth > 2) is_nested = true;
    } else if (c == ']') {
      if (depth == 2 && is_nested) out.back().clear();
      if (depth == 0 || --depth == 0) break;
    } else if ((c >= '0' && c <= '9') || c == '-') {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), value);
      if (error != std::errc{}) return {};
      if (depth == 2 && !is_nested) out.back().push_back(value > kMostElements ? -1 : value);
      i = static_cast<std::size_t>(end - text.data()) - 1;
    }
  }
  return out;
}

std::vector<std::string> texts_in(std::string_view list) {
  std::vector<std::string> out;
  for (std::size_t open = list.find('"'); open != std::string_view::npos;) {
    const std::size_t close = list.find('"', open + 1);
    if (close == std::string_view::npos) break;
    out.emplace_back(list.substr(open + 1, close - open - 1));
    open = list.find('"', close + 1);
  }
  return out;
}

std::optional<Op> costed_op(std::string_view name, const OpShape& shape, std::string_view kernel) {
  const Dims dims = dimensions_in(shape.dims);
  const auto types = texts_in(shape.types), values = texts_in(shape.values);
  Op op;
  std::size_t factor = 0;  // argument whose type is the compute type
  if (const auto gemm = gemm_of(name, dims)) {
    op.name = "gemm", op.shape = *gemm;
    factor = name == "aten::addmm" || name == "aten::_addmm_activation" || name == "aten::baddbmm"
                 ? 1
                 : 0;
  } else if (const auto attention = attention_of(name, dims, values)) {
    op.name = "attention", op.shape = *attention;
  } else if (auto conv = convolution_of(name, dims, values, kernel)) {
    op = *conv;
  } else {
    return std::nullopt;
  }
  const auto precision = precision_of(factor < types.size() ? types[factor] : "", kernel);
  if (!precision) return std::nullopt;
  op.precision = *precision;
  return op;
}
}  // namespace stepcast
