#include "sim/import/kineto/collective_args.hpp"

#include <charconv>

#include "sim/import/chrome_json/chrome_json.hpp"
#include "sim/import/common/nccl_identity.hpp"

namespace stepcast::kineto {
namespace {
using chrome_json::value_of;

std::int64_t integer_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end != text.data() ? value : 0;
}
/// Elements of the first input: [[8, 1024], []] -> 8192; a list of tensors [[[4], [6]], ...] -> 10.
std::int64_t first_input_elements(std::string_view dims) {
  if (!dims.starts_with('[')) return 0;
  std::size_t depth = 0;
  std::int64_t total = 0, product = 1;
  bool has_number = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const char c = dims[i];
    if (c == '[') {
      ++depth;
      product = 1, has_number = false;
    } else if (c == ']') {
      if (has_number) total += product;
      has_number = false;
      if (--depth <= 1) break;
    } else if (c >= '0' && c <= '9') {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(dims.data() + i, dims.data() + dims.size(), value);
      if (error != std::errc{}) return 0;
      if (value != 0 && product > (std::int64_t{1} << 50) / value) return 0;
      product *= value;
      has_number = true;
      i = static_cast<std::size_t>(end - dims.data()) - 1;
    }
  }
  return total;
}
std::string_view first_text(std::string_view list) {
  const auto open = list.find('"');
  if (open == std::string_view::npos) return {};
  const auto close = list.find('"', open + 1);
  return close == std::string_view::npos ? std::string_view{}
                                         : list.substr(open + 1, close - open - 1);
}
}  // namespace

std::vector<int> numbers_in(std::string_view list) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < list.size() && numbers.size() < 1'000'000; ++i) {
    if (list[i] == '.') break;
    if (list[i] < '0' || list[i] > '9') continue;
    int value = 0;
    const auto [end, error] = std::from_chars(list.data() + i, list.data() + list.size(), value);
    if (error != std::errc{}) break;
    numbers.push_back(value);
    i = static_cast<std::size_t>(end - list.data()) - 1;
  }
  return numbers;
}

std::optional<CollectiveCall> call_from_metadata(std::string_view args) {
  const std::string_view name = value_of(args, "Collective name");
  if (name.empty()) return std::nullopt;
  CollectiveCall call;
  call.name = std::string(name);
  call.collective = collective_named_in(name);
  call.dtype = std::string(value_of(args, "dtype"));
  call.group = std::string(value_of(args, "Process Group Name"));
  call.group_description = std::string(value_of(args, "Process Group Description"));
  const std::int64_t size = integer_in(value_of(args, "Group size"));
  call.group_size = size > 0 && size < 100'000'000 ? static_cast<int>(size) : 0;
  call.ranks = numbers_in(value_of(args, "Process Group Ranks"));
  if (call.group_size == 0) call.group_size = static_cast<int>(call.ranks.size());
  if (static_cast<int>(call.ranks.size()) != call.group_size)
    call.ranks.clear();  // long lists are abbreviated in the trace
  call.bytes = nccl_tests_bytes(call.collective, integer_in(value_of(args, "In msg nelems")),
                                integer_in(value_of(args, "Out msg nelems")),
                                element_bytes(call.dtype), call.group_size);
  call.source = CollectiveSource::metadata;
  if (call.collective == Collective::send_recv) {  // PyTorch 2.5 and later name the other end of a
                                                   // message by its global rank
    const std::string_view to = value_of(args, "Dst Rank"), from = value_of(args, "Src Rank");
    call.is_send = name == "send" || (from.empty() && !to.empty());
    const std::string_view other = call.is_send ? to : from;
    const std::int64_t peer = other.empty() ? -1 : integer_in(other);
    if (peer >= 0 && peer < 100'000'000) call.peer = static_cast<int>(peer);
  }
  return call;
}

CollectiveCall call_from_annotation(std::string_view name, std::string_view args, int world) {
  CollectiveCall call;
  call.name = std::string(name);
  call.collective = collective_named_in(name);
  call.dtype = std::string(first_text(value_of(args, "Input type")));
  const std::int64_t elements = first_input_elements(value_of(args, "Input Dims"));
  // The inputs are a rank's own: an all-gather's buffer is world times as large.
  call.bytes =
      call.collective == Collective::all_gather
          ? nccl_tests_bytes(call.collective, elements, 0, element_bytes(call.dtype), world)
          : nccl_tests_bytes(call.collective, elements, elements, element_bytes(call.dtype), world);
  call.group_size = world;
  call.source = CollectiveSource::annotation;
  return call;
}
}  // namespace stepcast::kineto
