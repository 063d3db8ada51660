#include "sim/timeline/read/slice_args.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "sim/core/result.hpp"
#include "sim/import/chrome_json/chrome_json.hpp"
#include "sim/import/common/byte_source.hpp"
#include "sim/timeline/read/members.hpp"

namespace stepcast::trace {
namespace {
constexpr std::size_t kBlock = std::size_t{1}
                               << 20;  // inflated at once while looking for the place
constexpr std::size_t kEventLimit = std::size_t{64} << 20;  // one event

/// The inflated bytes from `offset` on. A plain file is sought, a compressed one inflated up to the
/// place.
class From {
 public:
  From(const std::string& path, std::uint64_t offset, const std::stop_token& stop) {
    char magic[4] = {};
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) return;
    const ssize_t got = pread(fd_, magic, sizeof magic, 0);
    const bool is_packed = got == 4 && (std::memcmp(magic, "\x1f\x8b", 2) == 0 ||
                                        std::memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0);
    if (!is_packed) {
      at_ = static_cast<off_t>(offset);
      is_good_ = true;
      return;
    }
    source_ = open_bytes(path);
    std::vector<char> block(kBlock);
    while (offset > 0 && !stop.stop_requested()) {
      const std::size_t done =
          source_->read(block.data(), std::min<std::uint64_t>(offset, block.size()));
      if (done == 0) return;
      offset -= done;
    }
    is_good_ = offset == 0;
  }
  From(const From&) = delete;
  From& operator=(const From&) = delete;
  ~From() {
    if (fd_ >= 0) close(fd_);
  }
  bool is_good() const { return is_good_; }
  std::size_t read(char* into, std::size_t size) {
    if (source_) return source_->read(into, size);
    const ssize_t got = pread(fd_, into, size, at_);
    if (got <= 0) return 0;
    at_ += got;
    return static_cast<std::size_t>(got);
  }

 private:
  int fd_ = -1;
  off_t at_ = 0;
  std::unique_ptr<ByteSource> source_;
  bool is_good_ = false;
};

/// The object that begins at or shortly behind the start of the stream.
std::string object_in(From& from, std::size_t slack) {
  std::string text;
  std::size_t at = 0, begin = std::string::npos, depth = 0;
  bool is_in_string = false, is_escaped = false;
  char block[4096];
  while (text.size() < kEventLimit) {
    const std::size_t got = from.read(block, sizeof block);
    if (got == 0) return {};
    text.append(block, got);
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (begin == std::string::npos) {
        if (c == '{')
          begin = at, depth = 1;
        else if (at > slack)
          return {};
        continue;
      }
      if (is_in_string) {
        if (is_escaped)
          is_escaped = false;
        else if (c == '\\')
          is_escaped = true;
        else if (c == '"')
          is_in_string = false;
      } else if (c == '"') {
        is_in_string = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        return text.substr(begin, at + 1 - begin);
      }
    }
  }
  return {};
}

std::optional<SliceArgs> fetch(const SourceFile& file, std::uint64_t offset, std::string_view name,
                               Nanoseconds time, const std::stop_token& stop) {
  if (file.path.empty()) return std::nullopt;
  try {
    From from(file.path, offset, stop);
    if (!from.is_good()) return std::nullopt;
    SliceArgs found;
    found.raw = object_in(from, (std::size_t{1} << file.offset_shift) + 64);
    // The file may have changed since: the event must be the one that was read.
    Nanoseconds start = 0;
    if (!chrome_json::nanoseconds_of(chrome_json::value_of(found.raw, "ts"), start) ||
        start + file.time_base + file.clock_offset != time)
      return std::nullopt;
    if (chrome_json::unescaped(chrome_json::value_of(found.raw, "name")) != name)
      return std::nullopt;
    for_each_member(chrome_json::value_of(found.raw, "args"),
                    [&](std::string_view key, std::string_view value, bool is_text) {
                      found.args.emplace_back(
                          chrome_json::unescaped(key),
                          is_text ? chrome_json::unescaped(value) : std::string(value));
                    });
    return found;
  } catch (const InputError&) {
    return std::nullopt;  // gone or damaged since
  }
}
}  // namespace

std::optional<SliceArgs> read_slice_args(const TraceStore& trace, SliceId slice,
                                         std::stop_token stop) {
  const std::uint32_t source = trace.tracks()[trace.track_of(slice)].source;
  if (source >= trace.sources().size() || trace.parts().source.empty()) return std::nullopt;
  return fetch(trace.sources()[source], trace.source_offset(slice), trace.name(slice),
               trace.start(slice), stop);
}

std::optional<SliceArgs> read_instant_args(const TraceStore& trace, std::size_t instant,
                                           std::stop_token stop) {
  const Instant& event = trace.instants()[instant];
  const std::uint32_t source = trace.tracks()[event.track].source;
  if (source >= trace.sources().size()) return std::nullopt;
  const SourceFile& file = trace.sources()[source];
  return fetch(file, std::uint64_t{event.source} << file.offset_shift,
               trace.text(trace.ops()[event.op].name), event.time, stop);
}
}  // namespace stepcast::trace
