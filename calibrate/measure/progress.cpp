#include "calibrate/measure/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace stepcast::calibrate {

std::string clock_text(double seconds) {
  const auto s = static_cast<long>(seconds + 0.5);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

Progress::Progress(std::size_t total, std::size_t already, bool is_shown)
    : total_(total),
      already_(already),
      is_shown_(is_shown),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      begin_(std::chrono::steady_clock::now()) {
  if (is_shown_ && already_ > 0)
    fmt::print(stderr, "resuming: {} of {} measurements are there already\n", already_, total_);
}

void Progress::start(const std::string& name) {
  if (!is_shown_) return;
  const std::size_t at = already_ + done_;
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const std::string left = done_ < 3 ? ""
                                     : "  about " +
                                           clock_text(elapsed / static_cast<double>(done_) *
                                                      static_cast<double>(total_ - at)) +
                                           " left";
  const std::string line = fmt::format("{}/{}  {} %  {}{}", at + 1, total_,
                                       100 * at / std::max<std::size_t>(1, total_), name, left);
  if (is_terminal_) {
    fmt::print(stderr, "\r\x1b[K{}", line.substr(0, 118));
  } else if (10 * at / total_ > last_tenth_ || at == already_) {
    last_tenth_ = 10 * at / total_;
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}
void Progress::finish() {
  ++done_;
  if (is_shown_ && is_terminal_ && already_ + done_ == total_) fmt::print(stderr, "\r\x1b[K");
}
}  // namespace stepcast::calibrate
