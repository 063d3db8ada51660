#include "sim/import/k8s/pipeline_layout.hpp"

#include <cctype>
#include <cstdio>

namespace stepcast::k8s {
namespace {
constexpr std::size_t kLongest = 1 << 16;  // letters after every repetition is written out

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// A sequence of letters and groups up to `end` (')' or the text's end), repetitions written out.
class Layout {
 public:
  explicit Layout(const std::string& text) : text_(text) {}
  std::optional<std::string> letters() {
    const std::string all = sequence(0);
    return is_sound_ && at_ == text_.size() ? std::optional<std::string>(all) : std::nullopt;
  }

 private:
  std::string sequence(int depth) {
    std::string out;
    while (is_sound_ && at_ < text_.size() && text_[at_] != ')') {
      std::string part;
      const char c = text_[at_++];
      if (c == '(' && depth < 8) {
        part = sequence(depth + 1);
        is_sound_ = is_sound_ && at_ < text_.size() && text_[at_++] == ')';
      } else if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') {
        part = c;
      } else if (c != ',') {  // a comma only separates
        is_sound_ = false;
      }
      const std::size_t times = repetitions();
      if (part.size() * times + out.size() > kLongest) is_sound_ = false;
      for (std::size_t i = 0; is_sound_ && i < times; ++i) out += part;
    }
    return out;
  }
  std::size_t repetitions() {
    if (at_ >= text_.size() || text_[at_] != '*') return 1;
    ++at_;
    std::size_t times = 0;
    if (at_ >= text_.size() || !is_digit(text_[at_])) is_sound_ = false;
    while (at_ < text_.size() && is_digit(text_[at_]) && times < kLongest)
      times = 10 * times + static_cast<std::size_t>(text_[at_++] - '0');
    return times;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  bool is_sound_ = true;
};
}  // namespace

std::optional<std::vector<int>> layers_of_layout(const std::string& text) {
  constexpr std::size_t kMostChunks = 4096;
  const auto letters = Layout(text).letters();
  if (!letters) return std::nullopt;
  std::vector<int> counts{0};
  for (const char c : *letters) {
    if (c == 't') ++counts.back();
    if (c == '|') counts.push_back(0);
  }
  return counts.size() <= kMostChunks ? std::optional<std::vector<int>>(counts) : std::nullopt;
}

std::optional<std::int64_t> leading_dense_layers(const std::string& text) {
  std::string plain;
  for (const char c : text)
    if (c != '(' && c != ')' && c != ' ') plain += c;
  long long dense = 0, sparse = 0;
  int read = 0;
  if (std::sscanf(plain.c_str(), "[0]*%9lld+[1]*%9lld%n", &dense, &sparse, &read) == 2 &&
      static_cast<std::size_t>(read) == plain.size() && dense >= 0)
    return dense;
  return std::nullopt;
}
}  // namespace stepcast::k8s
