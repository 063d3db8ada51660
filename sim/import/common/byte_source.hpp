#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace stepcast {
/// Bytes of one file in order, inflated on the way when its first bytes say gzip or zstd (the name
/// is not trusted). Memory stays at a few buffers whatever the size. Throws InputError: missing
/// file, folder, damaged or cut-off compression, unreadable device.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills up to `capacity` bytes; 0 means the end.
  virtual std::size_t read(char* into, std::size_t capacity) = 0;
  /// Bytes of the file on disk that were taken so far, for progress.
  virtual std::uint64_t position() const = 0;
};
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

/// The first `count` bytes (fewer when the file is shorter), inflated. What `sniff` functions look
/// at.
std::string head_of(const std::string& path, std::size_t count = 1 << 16);
/// Everything, at most `limit` bytes; more is an InputError naming the limit.
std::string read_all(const std::string& path, std::int64_t limit);
/// zstd-compressed (level 9) when the name ends in .zst, else as sim/io write_file does.
void write_compressed(const std::string& path, const std::string& content);
}  // namespace stepcast
