#include "sim/import/common/nccl_identity.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace stepcast {
namespace {
std::string squeezed(std::string_view text) {  // lower case, letters and digits only
  std::string out;
  for (const char c : text.substr(0, 200))
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}
}  // namespace

bool is_communication_kernel(std::string_view name) {
  // Substring tests on the raw name first: nearly every kernel is none of these.
  for (std::string_view word : {"nccl", "rccl", "msccl", "oneccl", "NCCL", "nvshmem", "deep_ep::"})
    if (name.find(word) != std::string_view::npos) return true;
  return false;
}

std::optional<Collective> collective_named_in(std::string_view text, bool* known_word) {
  const std::string s = squeezed(text);
  if (known_word != nullptr) *known_word = true;
  const auto has = [&](const char* word) { return s.find(word) != std::string::npos; };
  if (has("generic")) {  // RCCL's one kernel for all
    if (known_word != nullptr) *known_word = false;
    return std::nullopt;
  }
  if (has("reducescatter")) return Collective::reduce_scatter;
  if (has("allreduce")) return Collective::all_reduce;
  if (has("allgather")) return Collective::all_gather;
  if (has("alltoall")) return Collective::all_to_all;
  if (has("broadcast")) return Collective::broadcast;
  if (has("sendrecv") || has("collectivepermute") || has("ncclsend") || has("ncclrecv") ||
      has("gloosend") || has("gloorecv") || s == "send" || s == "recv" || has("batchisendirecv"))
    return Collective::send_recv;
  if (!(has("reduce") || has("gather") || has("scatter") || has("barrier")) &&
      known_word != nullptr)
    *known_word = false;
  return std::nullopt;
}

int element_bytes(std::string_view dtype) {
  const std::string s = squeezed(dtype);
  static constexpr std::array<std::pair<std::string_view, int>, 24> sizes{
      {{"float", 4},    {"double", 8},       {"longint", 8},    {"long", 8},
       {"int", 4},      {"c10half", 2},      {"half", 2},       {"c10bfloat16", 2},
       {"bfloat16", 2}, {"unsignedchar", 1}, {"signedchar", 1}, {"byte", 1},
       {"char", 1},     {"bool", 1},         {"short", 2},      {"float16", 2},
       {"float32", 4},  {"float64", 8},      {"int8", 1},       {"uint8", 1},
       {"int32", 4},    {"int64", 8},        {"shortint", 2},   {"complexfloat", 8}}};
  for (const auto& [name, bytes] : sizes)
    if (s == name) return bytes;
  return s.find("float8") != std::string::npos ? 1 : 0;
}

std::int64_t nccl_tests_bytes(std::optional<Collective> collective, std::int64_t in_elements,
                              std::int64_t out_elements, int element_size, int group_size) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;  // a petabyte: anything above is damage
  const std::int64_t n = std::max(group_size, 1);
  std::int64_t elements = std::max(in_elements, out_elements);
  if (collective == Collective::all_gather)
    elements = std::max(out_elements, out_elements > in_elements ? 0 : in_elements * n);
  if (collective == Collective::reduce_scatter)
    elements = std::max(in_elements, in_elements > out_elements ? 0 : out_elements * n);
  if (elements <= 0 || element_size <= 0 || elements > kMost / element_size) return 0;
  return elements * element_size;
}
}  // namespace stepcast
