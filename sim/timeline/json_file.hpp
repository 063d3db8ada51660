#pragma once
#include <fmt/format.h>
#include <zlib.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "sim/core/units.hpp"
#include "sim/io/unfinished_file.hpp"

namespace stepcast {
/// Text into a file or (name ends in .gz) a gzip stream, chunk by chunk; the file appears under its
/// name when complete.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path);
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile();
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kChunk) flush();
  }
  void finish();

 private:
  static constexpr std::size_t kChunk =
      std::size_t{1} << 18;  // bytes gathered before a write: keeps memory flat for any length
  void flush();
  std::string path_, temporary_;
  UnfinishedFile unfinished_;
  std::string buffer_;
  gzFile file_ = nullptr;
};
/// A JSON string with its quotes.
std::string json_quoted(std::string_view text);
/// Microseconds with the nanoseconds as decimals, exact: 1234567 ns -> "1234.567".
std::string us_text(Nanoseconds ns);
}  // namespace stepcast
