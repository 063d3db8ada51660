#include "sim/import/common/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/io/files.hpp"

namespace stepcast {
namespace {
constexpr std::size_t kBuffer = 1 << 18;  // compressed bytes read at once

[[noreturn]] void fail(const std::string& path, const std::string& message,
                       const std::string& hint = "") {
  throw InputError(Problem{path, "", message, hint});
}

class PlainFile : public ByteSource {
 public:
  explicit PlainFile(const std::string& path) : path_(path) {
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      fail(path, "is a folder; a file is expected");
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) {
      // read_file knows how to name the nearest file; it is asked only for that sentence.
      const auto missing = read_file(path, 0);
      if (!missing && errno != EACCES) throw InputError(missing.problems());
      fail(path, std::string("cannot be read: ") + std::strerror(errno));
    }
  }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile() override { close(fd_); }
  std::size_t read(char* into, std::size_t capacity) override {
    for (;;) {
      const ssize_t got = ::read(fd_, into, capacity);
      if (got >= 0) {
        position_ += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) fail(path_, std::string("cannot be read: ") + std::strerror(errno));
    }
  }

  std::uint64_t position() const override { return position_; }

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t position_ = 0;
};

/// Common to both decoders: a raw file, a buffer of compressed bytes, the ones peeked at first.
class Inflated : public ByteSource {
 public:
  Inflated(std::unique_ptr<ByteSource> raw, std::string path, const std::string& peeked)
      : raw_(std::move(raw)), path_(std::move(path)), buffer_(kBuffer) {
    std::memcpy(buffer_.data(), peeked.data(), peeked.size());
    available_ = peeked.size();
  }
  std::uint64_t position() const override { return raw_->position() - (available_ - at_); }

 protected:
  bool refill() {
    available_ = raw_->read(buffer_.data(), buffer_.size());
    at_ = 0;
    return available_ > 0;
  }
  std::unique_ptr<ByteSource> raw_;
  std::string path_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, available_ = 0;
  bool is_inside_ = true;  // a member or frame was begun and has not ended
};

class GzipSource : public Inflated {
 public:
  using Inflated::Inflated;
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&z_); }
  std::size_t read(char* into, std::size_t capacity) override {
    if (!is_ready_) {
      if (inflateInit2(&z_, 15 + 16) != Z_OK) fail(path_, "cannot be inflated: zlib has no memory");
      is_ready_ = true;
    }
    z_.next_out = reinterpret_cast<Bytef*>(into);
    z_.avail_out = static_cast<uInt>(std::min<std::size_t>(capacity, 1u << 30));
    const uInt wanted = z_.avail_out;
    while (z_.avail_out > 0) {
      if (at_ == available_ && !refill()) {
        if (is_inside_ && z_.avail_out == wanted)
          fail(path_, "ends in the middle of its gzip stream", "copy the file again");
        break;  // what was inflated comes first; the next call meets the end again
      }
      if (!is_inside_) {  // concatenated members (pigz, cat a.gz b.gz); zero padding ends the file
        if (buffer_[at_] == 0) {
          at_ = available_;
          continue;
        }
        inflateReset(&z_);
        is_inside_ = true;
      }
      z_.next_in = reinterpret_cast<Bytef*>(buffer_.data() + at_);
      z_.avail_in = static_cast<uInt>(available_ - at_);
      const int status = inflate(&z_, Z_NO_FLUSH);
      at_ = available_ - z_.avail_in;
      if (status == Z_STREAM_END)
        is_inside_ = false;
      else if (status != Z_OK && status != Z_BUF_ERROR) {
        if (z_.avail_out == wanted)
          fail(path_, "is damaged: not valid gzip", "copy the file again");
        break;  // as above: zlib stays in its error state
      }
    }
    return wanted - z_.avail_out;
  }

 private:
  z_stream z_{};
  bool is_ready_ = false;
};

class ZstdSource : public Inflated {
 public:
  using Inflated::Inflated;
  std::size_t read(char* into, std::size_t capacity) override {
    ZSTD_outBuffer out{into, capacity, 0};
    while (out.pos < out.size) {
      if (at_ == available_ && !refill()) {
        if (is_inside_ && out.pos == 0)
          fail(path_, "ends in the middle of its zstd stream", "copy the file again");
        break;
      }
      ZSTD_inBuffer in{buffer_.data(), available_, at_};
      const std::size_t status = ZSTD_decompressStream(z_.get(), &out, &in);
      at_ = in.pos;
      if (ZSTD_isError(status)) {
        if (out.pos == 0)
          fail(path_,
               std::string("is damaged: not valid zstd (") + ZSTD_getErrorName(status) + ")");
        break;
      }
      is_inside_ = status != 0;
    }
    return out.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* z) const { ZSTD_freeDStream(z); }
  };
  std::unique_ptr<ZSTD_DStream, Free> z_{ZSTD_createDStream()};
};

/// The bytes already looked at, then the rest.
class Rejoined : public ByteSource {
 public:
  Rejoined(std::unique_ptr<ByteSource> raw, std::string peeked)
      : raw_(std::move(raw)), peeked_(std::move(peeked)) {}
  std::size_t read(char* into, std::size_t capacity) override {
    if (at_ == peeked_.size()) return raw_->read(into, capacity);
    const std::size_t count = std::min(capacity, peeked_.size() - at_);
    std::memcpy(into, peeked_.data() + at_, count);
    at_ += count;
    return count;
  }
  std::uint64_t position() const override { return raw_->position() - (peeked_.size() - at_); }

 private:
  std::unique_ptr<ByteSource> raw_;
  std::string peeked_;
  std::size_t at_ = 0;
};
}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  auto raw = std::make_unique<PlainFile>(path);
  std::string peeked(4, '\0');
  std::size_t have = 0;
  while (have < peeked.size()) {
    const std::size_t got = raw->read(peeked.data() + have, peeked.size() - have);
    if (got == 0) break;
    have += got;
  }
  peeked.resize(have);
  if (peeked.starts_with("\x1f\x8b"))
    return std::make_unique<GzipSource>(std::move(raw), path, peeked);
  if (peeked == "\x28\xb5\x2f\xfd")
    return std::make_unique<ZstdSource>(std::move(raw), path, peeked);
  return std::make_unique<Rejoined>(std::move(raw), peeked);
}

std::string head_of(const std::string& path, std::size_t count) {
  const auto source = open_bytes(path);
  std::string head(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const std::size_t got = source->read(head.data() + have, count - have);
    if (got == 0) break;
    have += got;
  }
  head.resize(have);
  return head;
}

std::string read_all(const std::string& path, std::int64_t limit) {
  const auto source = open_bytes(path);
  // A file beyond the limit as it lies is beyond it inflated too: sparse gigabytes are refused
  // before they are read.
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > limit)
    fail(path,
         "is larger than " + std::to_string(limit >> 20) + " MiB, the limit for this kind of file");
  std::string content;
  std::vector<char> buffer(kBuffer);
  while (const std::size_t got = source->read(buffer.data(), buffer.size())) {
    content.append(buffer.data(), got);
    if (static_cast<std::int64_t>(content.size()) > limit)
      fail(path, "is larger than " + std::to_string(limit >> 20) +
                     " MiB, the limit for this kind of file");
  }
  return content;
}

void write_compressed(const std::string& path, const std::string& content) {
  if (!path.ends_with(".zst")) return write_file(path, content);
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 9);
  if (ZSTD_isError(size))
    throw EnvironmentError(path + ": cannot be compressed: " + ZSTD_getErrorName(size));
  packed.resize(size);
  write_file(path, packed);
}
}  // namespace stepcast
