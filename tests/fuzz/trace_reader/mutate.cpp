#include "tests/fuzz/trace_reader/mutate.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace stepcast::fuzz {
namespace {
constexpr std::array<std::string_view, 40> kWords{"{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "\"",
                                                  "\\",
                                                  "\\\"",
                                                  "\\u0000",
                                                  "null",
                                                  "true",
                                                  "1e308",
                                                  "-1e-400",
                                                  "9223372036854775807",
                                                  "-9223372036854775808",
                                                  "99999999999999999999",
                                                  "0.0009",
                                                  "\"ph\":\"X\"",
                                                  "\"ph\":\"B\"",
                                                  "\"ph\":\"E\"",
                                                  "\"ph\":\"b\"",
                                                  "\"ph\":\"e\"",
                                                  "\"ph\":\"C\"",
                                                  "\"ph\":\"M\"",
                                                  "\"ph\":\"f\"",
                                                  "\"ph\":\"s\"",
                                                  "\"ts\":",
                                                  "\"dur\":-5",
                                                  "\"id2\":{\"local\":\"0x1\"}",
                                                  "\"bind_id\":7",
                                                  "\"args\":{\"name\":\"rank 3\"}",
                                                  "\"args\":{\"step\":-1}",
                                                  "\"name\":\"ProfilerStep#18446744073709551616\"",
                                                  "\"cat\":\"kernel\"",
                                                  "\"traceEvents\":[",
                                                  "\"baseTimeNanoseconds\":2305843009213693951",
                                                  "]}{\"traceEvents\":[",
                                                  "\xef\xbb\xbf",
                                                  "\x01"};
constexpr std::size_t kLongest = 1 << 16;  // bytes; larger inputs only slow the search down
}  // namespace

std::string mutated(const std::vector<std::string>& seeds, Noise& noise) {
  std::string text = seeds[noise.below(seeds.size())];
  for (std::size_t changes = 1 + noise.below(8); changes > 0; --changes) {
    const std::size_t at = noise.below(text.size() + 1),
                      length =
                          std::min(text.size() - at, noise.below(noise.below(4) == 0 ? 400 : 12));
    switch (noise.below(8)) {
      case 0:
        if (!text.empty()) text[noise.below(text.size())] = static_cast<char>(noise.next());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(noise.below(text.size() + 1), text.substr(at, length));
        break;
      case 3:
        text.resize(at);
        break;
      case 4: {
        const std::string& other = seeds[noise.below(seeds.size())];
        text = text.substr(0, at) + other.substr(noise.below(other.size() + 1));
        break;
      }
      default:
        text.insert(at, kWords[noise.below(kWords.size())]);
    }
    if (text.size() > kLongest) text.resize(kLongest);
  }
  return text;
}
}  // namespace stepcast::fuzz
