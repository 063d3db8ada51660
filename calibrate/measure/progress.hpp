#pragma once
#include <chrono>
#include <string>

namespace stepcast::calibrate {
/// One line that is rewritten on a terminal, and a line per tenth otherwise: "37/120  31 %  gemm
/// m512 n1024 k256  about 0:42 left".
class Progress {
 public:
  Progress(std::size_t total, std::size_t already, bool is_shown);
  void start(const std::string& name);
  void finish();

 private:
  std::size_t total_, already_, done_ = 0, last_tenth_ = 0;
  bool is_shown_, is_terminal_;
  std::chrono::steady_clock::time_point begin_;
};
/// "0:42", "1:02:03".
std::string clock_text(double seconds);
}  // namespace stepcast::calibrate
