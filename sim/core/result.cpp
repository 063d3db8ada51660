#include "sim/core/result.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace stepcast {

std::string text_of(const Problem& p) {
  std::string text = p.file;
  if (!p.place.empty()) text += (text.empty() ? "" : " ") + p.place;
  if (!text.empty()) text += ": ";
  text += p.message;
  if (!p.hint.empty()) text += "; " + p.hint;
  return text;
}

std::string Problems::text() const {
  std::string all;
  for (const Problem& p : list_) {
    if (!all.empty()) all += '\n';
    all += text_of(p);
  }
  return all;
}

namespace {
// Optimal string alignment distance: insert, delete, replace, swap neighbours each cost 1.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto differs = std::tolower(static_cast<unsigned char>(a[i - 1])) !=
                           std::tolower(static_cast<unsigned char>(b[j - 1]));
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (differs ? 1u : 0u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}
}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
  if (name.size() > 200) return "";
  std::string best;
  std::size_t best_distance = 2 + name.size() / 3;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}
}  // namespace stepcast
