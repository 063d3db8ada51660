#include "sim/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace stepcast {
namespace {
std::string clock_text(double seconds) {
  const auto s = static_cast<long>(std::lround(seconds));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}
}  // namespace

Progress::Progress(std::size_t total, std::size_t done_before)
    : total_(total), done_before_(done_before), is_terminal_(isatty(STDERR_FILENO) == 1) {}

std::string Progress::line(std::size_t total, std::size_t done_before, std::size_t done_now,
                           double elapsed_s) {
  const std::size_t done = done_before + done_now;
  std::string text = fmt::format("{}/{}  {} %  elapsed {}", done, total,
                                 total == 0 ? 100 : 100 * done / total, clock_text(elapsed_s));
  // Points done before this start cost nothing now: the pace is that of this run.
  if (done_now > 0 && done < total)
    text += "  left " + clock_text(elapsed_s / static_cast<double>(done_now) *
                                   static_cast<double>(total - done));
  return text;
}
void Progress::step() {
  ++done_now_;
  if (!is_terminal_) return;
  fmt::print(stderr, "\r\x1b[K{}", line(total_, done_before_, done_now_, watch_.seconds()));
  std::fflush(stderr);
}
void Progress::finish() {
  if (is_terminal_) fmt::print(stderr, "\r\x1b[K");
}
}  // namespace stepcast
