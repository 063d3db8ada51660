#include "sim/import/nccl_tests/log_lines.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace stepcast::nccl_tests {
namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
std::size_t after_digits(std::string_view s, std::size_t at) {
  while (at < s.size() && is_digit(s[at])) ++at;
  return at;
}
/// "N/A" and "-" stand where a check was not made.
bool is_absent(std::string_view word) { return word == "N/A" || word == "n/a" || word == "-"; }

std::optional<Timing> timing_of(const std::vector<std::string_view>& words, std::size_t at,
                                bool has_wrong) {
  const auto time = number_of(words[at]), algbw = number_of(words[at + 1]),
             busbw = number_of(words[at + 2]);
  if (!time || !algbw || !busbw || *time < 0 || *algbw < 0 || *busbw < 0) return std::nullopt;
  Timing timing{*time, *algbw, *busbw, 0};
  if (has_wrong) {
    const auto wrong = number_of(words[at + 3]);
    if (!wrong && !is_absent(words[at + 3])) return std::nullopt;
    // Old versions print the largest relative error of floating-point sums (1e-06) in this column;
    // new ones a count.
    if (wrong && *wrong >= 1) timing.wrong = static_cast<std::int64_t>(std::min(*wrong, 1e15));
  }
  return timing;
}
}  // namespace

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && is_space(line[at])) ++at;
    const std::size_t begin = at;
    while (at < line.size() && !is_space(line[at])) ++at;
    if (at > begin) words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

namespace {
/// Behind a date and a time of day as log collectors put them in front: "2024-05-01T10:00:00.12Z ",
/// "[2024-05-01 10:00:00] ", "2024-05-01 10:00:00,123 ". 0 where there is none.
std::size_t after_timestamp(std::string_view line) {
  std::size_t at = line.starts_with('[') ? 1 : 0;
  const auto takes = [&](const char* pattern) {  // 0: a digit; others stand for themselves
    std::size_t i = at;
    for (const char* p = pattern; *p != 0; ++p, ++i)
      if (i >= line.size() || (*p == '0' ? !is_digit(line[i]) : line[i] != *p)) return false;
    at = i;
    return true;
  };
  if (!takes("0000-00-00") || (!takes("T") && !takes(" ")) || !takes("00:00:00")) return 0;
  while (at < line.size() && !is_space(line[at]) && line[at] != ']') ++at;  // fraction and zone
  if (line.starts_with('[')) {
    if (at >= line.size() || line[at] != ']') return 0;
    ++at;
  }
  return at < line.size() && line[at] == ' ' ? at + 1 : at;
}
}  // namespace

std::string without_prefix(std::string_view line) {
  std::string clean;
  clean.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && !std::isalpha(static_cast<unsigned char>(line[i]))) ++i;
    } else {
      clean += line[i];
    }
  }
  std::string_view rest = clean;
  rest.remove_prefix(after_timestamp(rest));
  if (rest.starts_with('[')) {  // [1,0]<stdout>: text   or   [1,0]<stdout>text
    const auto close = rest.find("]<std");
    const auto end = close == std::string_view::npos ? close : rest.find('>', close);
    if (end != std::string_view::npos) {
      rest.remove_prefix(end + 1);
      if (rest.starts_with(':')) rest.remove_prefix(1);
    }
  }
  const auto bar = rest.substr(0, 80).find(" | ");
  if (bar != std::string_view::npos && bar > 0 &&
      rest.substr(0, bar).find(' ') == std::string_view::npos)
    rest.remove_prefix(bar + 3);
  std::size_t digits = 0;
  while (digits < rest.size() && rest[digits] == ' ') ++digits;
  const std::size_t end = after_digits(rest, digits);
  if (end > digits && end - digits <= 6 && end + 1 < rest.size() && rest[end] == ':' &&
      rest[end + 1] == ' ')
    rest.remove_prefix(end + 2);
  return std::string(rest);
}

std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}
std::optional<std::int64_t> integer_of(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<Row> row_of(std::string_view line, bool& is_cut) {
  is_cut = false;
  const auto words = words_of(line);
  if (words.size() < 2) return std::nullopt;
  const auto size = integer_of(words[0]), count = integer_of(words[1]);
  if (!size || !count || *size < 0 || *count < 0) return std::nullopt;
  is_cut = true;  // two integers in front: nothing else in these logs looks like that
  if (words.size() < 3 || !std::isalpha(static_cast<unsigned char>(words[2][0])))
    return std::nullopt;
  Row row;
  row.size = *size;
  row.type = std::string(words[2]);
  std::size_t at = 3;
  if (at < words.size() && std::isalpha(static_cast<unsigned char>(words[at][0])) &&
      !is_absent(words[at]))
    row.redop = std::string(words[at++]);
  // What follows is [root] and one or two timings of 3 or 4 columns each: the count decides, no
  // header is needed.
  const std::size_t left = words.size() - at;
  const bool has_root = left == 9 || left == 7 || left == 5;
  if (has_root) {
    const auto root = integer_of(words[at++]);
    if (!root || *root < -1 || *root > 1'000'000) return std::nullopt;
    row.root = static_cast<int>(*root);
  }
  const std::size_t columns = left - (has_root ? 1 : 0);
  const bool has_wrong = columns == 8 || columns == 4;
  if (columns != 8 && columns != 6 && columns != 4 && columns != 3) return std::nullopt;
  const std::size_t width = has_wrong ? 4 : 3;
  row.out_of_place = timing_of(words, at, has_wrong);
  if (columns >= 6) row.in_place = timing_of(words, at + width, has_wrong);
  if (!row.out_of_place && !row.in_place) return std::nullopt;
  is_cut = false;
  return row;
}

std::optional<RankLine> rank_line_of(std::string_view line) {
  // #  Rank  0 Group  0 Pid 4175036 on node device  0 [0000:1b:00] NVIDIA H100     (old: no Group)
  const auto words = words_of(line);
  if (words.size() < 8 || words[0] != "#" || words[1] != "Rank") return std::nullopt;
  const auto rank = integer_of(words[2]);
  const auto on = std::find(words.begin(), words.end(), "on");
  if (!rank || *rank < 0 || *rank > 10'000'000 || words.end() - on < 4 || on[2] != "device")
    return std::nullopt;
  RankLine result{static_cast<int>(*rank), std::string(on[1]), ""};
  for (auto word = on + 4; word < words.end(); ++word) {
    if (word->starts_with('[')) continue;
    if (!result.device.empty()) result.device += ' ';
    result.device += *word;
  }
  return result;
}

Test test_named_in(std::string_view text) {
  std::string low;
  for (const char c : text)
    if (c != '_' && c != '-') low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static constexpr std::array<std::pair<std::string_view, Test>, 10> names{
      {{"allreduce", Test::all_reduce},
       {"allgather", Test::all_gather},
       {"reducescatter", Test::reduce_scatter},
       {"broadcast", Test::broadcast},
       {"alltoall", Test::all_to_all},
       {"sendrecv", Test::send_recv},
       {"hypercube", Test::hypercube},
       {"scatterperf", Test::scatter},
       {"gatherperf", Test::gather},
       {"reduceperf", Test::reduce}}};
  for (const auto& [name, test] : names)
    if (low.find(name) != std::string::npos) return test;
  return Test::unknown;
}
}  // namespace stepcast::nccl_tests
