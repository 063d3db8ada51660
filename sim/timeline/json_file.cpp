#include "sim/timeline/json_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/core/assert.hpp"

namespace stepcast {
TraceFile::TraceFile(const std::string& path)
    : path_(path), temporary_(path + ".part" + std::to_string(getpid())), unfinished_(temporary_) {
  std::error_code ignored;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
  // "T" writes without compression through the same calls.
  file_ = gzopen(temporary_.c_str(), path.ends_with(".gz") ? "wb6" : "wbT");
  if (file_ == nullptr)
    throw EnvironmentError(path_ + ": cannot be created: " + std::strerror(errno));
}
TraceFile::~TraceFile() {
  if (file_ == nullptr) return;
  gzclose(file_);
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}
void TraceFile::finish() {
  flush();
  const int closed = gzclose(file_);
  file_ = nullptr;
  std::error_code error;
  if (closed == Z_OK) std::filesystem::rename(temporary_, path_, error);
  if (closed != Z_OK || error) throw EnvironmentError(path_ + ": cannot be written");
}
void TraceFile::flush() {
  if (!buffer_.empty() && gzwrite(file_, buffer_.data(), static_cast<unsigned>(buffer_.size())) !=
                              static_cast<int>(buffer_.size()))
    throw EnvironmentError(path_ + ": cannot be written: " + std::strerror(errno));
  buffer_.clear();
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

std::string us_text(Nanoseconds ns) {
  const bool is_negative = ns < 0;
  const auto size = static_cast<std::uint64_t>(is_negative ? -ns : ns);
  return fmt::format("{}{}.{:03}", is_negative ? "-" : "", size / 1000, size % 1000);
}
}  // namespace stepcast
