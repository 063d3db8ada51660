#include "sim/import/chrome_json/chrome_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/core/result.hpp"
#include "sim/import/chrome_json/event_window.hpp"
#include "sim/import/common/byte_source.hpp"

namespace stepcast::chrome_json {
namespace {
constexpr std::size_t kMetadataLimit =
    std::size_t{64} << 20;  // device properties and the like; real ones stay below 1 MB
constexpr std::size_t kEventLimit = std::size_t{256} << 20;  // one event

class Reader {
 public:
  Reader(const std::string& path, const Sink& sink, Anomalies& anomalies, const Options& options)
      : path_(path),
        anomalies_(anomalies),
        options_(options),
        source_(open_bytes(path)),
        parser_(sink) {
    resize(std::max<std::size_t>(options.window, 256));
  }

  Summary read() {
    fill();
    if (size_ == 0) fail("is empty", "give a trace file");
    if (size_ >= 3 && std::memcmp(data(), "\xef\xbb\xbf", 3) == 0) drop(3);
    while (one_document()) {
    }
    if (summary_.events == 0 && !summary_.is_stopped) {
      if (!options_.keep_reading)
        fail("holds no trace event", "was the profiler stopped before its first step?");
      anomalies_.add("no_events", Severity::warning,
                     "the list of events is empty; was the profiler stopped before its first step?",
                     path_);
    }
    summary_.bytes = offset_ - size_;
    return std::move(summary_);
  }

 private:
  /// True when another one follows.
  bool one_document() {
    is_bare_array_ = is_in_string_ = is_escaped_ = false;
    depth_ = 0;
    summary_.metadata.clear();
    find_events();
    ++summary_.documents;
    bool is_closed = false;
    while (!is_closed && size_ > 0 && !summary_.is_stopped) {
      is_closed = one_window();
      if (options_.on_window && !options_.on_window(offset_ - size_, source_->position()))
        summary_.is_stopped = true;
    }
    if (!is_closed && !summary_.is_stopped) {
      if (!is_bare_array_)
        broken_off(fmt::format("breaks off after {} events", summary_.events));
      else
        anomalies_.add(
            "array_not_closed", Severity::info,
            "the list of events has no closing bracket, as tools that were still writing leave it",
            path_);
    }
    const bool has_more = is_closed && !summary_.is_stopped && after_events();
    if (options_.on_document) options_.on_document(summary_.metadata);
    return has_more;
  }
  [[noreturn]] void fail(const std::string& message, const std::string& hint = "") const {
    throw InputError(Problem{path_, "", message, hint});
  }
  void broken_off(const std::string& message) {
    if (!options_.allow_partial && !options_.keep_reading)
      fail(message, "copy it again, or take what it holds with --partial");
    summary_.is_broken_off = true;
    anomalies_.add("file_broken_off", Severity::error,
                   "the file ends early; figures cover what was written before",
                   fmt::format("{} @ byte {}", path_, offset_));
  }
  char* data() { return buffer_.data() + 64 + begin_; }  // 64 bytes in front: the parser writes one
  void resize(std::size_t capacity) {
    std::vector<char> larger(capacity + 64 + simdjson::SIMDJSON_PADDING + 64);
    if (size_ > 0) std::memcpy(larger.data() + 64, data(), size_);
    buffer_ = std::move(larger);
    begin_ = 0;
    capacity_ = capacity;
  }
  void drop(std::size_t count) { begin_ += count, size_ -= count; }
  /// Moves what is left to the front and reads until the window is full or the file ends.
  void fill() {
    if (begin_ > 0) std::memmove(buffer_.data() + 64, data(), size_);
    begin_ = 0;
    while (size_ < capacity_ && !is_at_end_) {
      std::size_t got = 0;
      try {
        got = source_->read(data() + size_, capacity_ - size_);
      } catch (const InputError& error) {
        // Only what was inflated before is known to be good.
        if (!options_.keep_reading || offset_ == 0) throw;
        summary_.is_broken_off = true;
        anomalies_.add(
            "compression_damaged", Severity::error,
            "the file cannot be inflated further; copy it again. What stands before is shown",
            fmt::format("{} @ byte {} on disk, {} inflated", path_, source_->position(), offset_));
      }
      is_at_end_ = got == 0;
      size_ += got, offset_ += got;
    }
  }

  /// Walks the top level up to `"traceEvents": [` (or a bare `[`), keeping what it passes as
  /// metadata.
  void find_events() {
    std::size_t at = 0;
    while (at < size_ && is_space(data()[at])) ++at;
    if (at == size_) fail("holds only blanks", "give a trace file");
    if (data()[at] == '[') {
      is_bare_array_ = true;
      return drop(at + 1);
    }
    if (data()[at] != '{')
      fail("is no JSON document", "PyTorch, Horovod and TensorFlow timelines begin with { or [");
    if (!walk(true)) {
      if (summary_.documents > 0) {  // keep_reading got here: what came before is good
        anomalies_.add("document_without_events", Severity::warning,
                       "a further document of the file has no \"traceEvents\" and is left out",
                       fmt::format("{} before byte {}", path_, offset_ - size_));
        return drop(size_);
      }
      if (summary_.metadata.size() >= kMetadataLimit)
        fail("has no \"traceEvents\" in its first 64 MiB");
      fail("is JSON without \"traceEvents\"",
           "give a trace written by torch.profiler or another Chrome-trace writer");
    }
  }
  /// After the array: the rest of the document, then nothing; true where another document follows
  /// and may.
  bool after_events() {
    if (!is_bare_array_) {
      summary_.metadata += "]";
      if (!walk(false) && depth_ != 0) broken_off("breaks off behind its events");
    }
    for (;;) {
      std::size_t at = 0;
      while (at < size_ && (is_space(data()[at]) || data()[at] == '\0')) ++at;
      drop(at);
      if (size_ > 0) {
        if (!options_.keep_reading)
          fail(fmt::format("goes on behind the end of its document at byte {}", offset_ - size_),
               "two files were joined: split them");
        const std::string place = fmt::format("{} @ byte {}", path_, offset_ - size_);
        if (data()[0] == '{' || data()[0] == '[') {
          anomalies_.add("documents_joined", Severity::info,
                         "the file holds several documents; each is shown with its own processes",
                         place);
          return true;
        }
        anomalies_.add("text_behind_the_end", Severity::warning,
                       "what stands behind the end of the document is left out", place);
        return false;
      }
      fill();
      if (size_ == 0) return false;
    }
  }
  /// to_events: true = stop behind the array's bracket (returns true), false = stop behind the
  /// document's end.
  bool walk(bool to_events) {
    std::string key;
    bool is_key_next = false;
    for (;;) {
      for (std::size_t at = 0; at < size_; ++at) {
        const char c = data()[at];
        summary_.metadata += c;
        if (is_in_string_) {
          if (is_escaped_)
            is_escaped_ = false;
          else if (c == '\\')
            is_escaped_ = true;
          else if (c == '"')
            is_in_string_ = false;
          else if (depth_ == 1 && key.size() < 16)
            key += c;
          continue;
        }
        if (c == '"')
          is_in_string_ = true, key.clear();
        else if (c == ':' && depth_ == 1)
          is_key_next = key == "traceEvents";
        else if (c == '{' || c == '[') {
          ++depth_;
          if (!to_events && depth_ == 2 && c == '[' && is_key_next)
            anomalies_.add("events_repeated", Severity::warning,
                           "an object with a second \"traceEvents\": only the first list is read",
                           fmt::format("{} @ byte {}", path_, offset_ - size_ + at));
          if (to_events && depth_ == 2 && c == '[' && is_key_next) {
            --depth_;  // the array is closed by the events' parser
            drop(at + 1);
            return true;
          }
        } else if (c == '}' || c == ']') {
          if (--depth_ == 0) {
            drop(at + 1);
            return false;
          }
        } else if (!is_space(c)) {
          if (c == ',') is_key_next = false;
        }
      }
      drop(size_);
      if (summary_.metadata.size() >= kMetadataLimit) return false;
      fill();
      if (size_ == 0) return false;
    }
  }

  bool one_window() {
    fill();
    std::size_t use = size_;
    if (!is_at_end_) {
      const std::size_t cut = last_cut(data(), size_);
      // No second event in a full window: either one huge event, or the array ended inside it.
      if (cut != std::string_view::npos)
        use = cut;
      else if (capacity_ < kEventLimit && std::memchr(data(), ']', size_) == nullptr) {
        resize(capacity_ * 2);
        return false;
      }
    }
    const std::uint64_t window_offset = offset_ - size_;
    const WindowResult result =
        parser_.parse(data(), use, is_at_end_ && use == size_, window_offset);
    if (result.damaged > 0) {
      std::int64_t counted = 0;
      for (const std::size_t where : result.damaged_at) {
        anomalies_.add(
            "event_damaged", Severity::error,
            "events that are no valid JSON are lost; write the trace again if they matter",
            fmt::format("{} @ byte {}", path_, window_offset + where), 1);
        ++counted;
      }
      anomalies_.add("event_damaged", Severity::error,
                     "events that are no valid JSON are lost; write the trace again if they matter",
                     "", result.damaged - counted);
    }
    summary_.events += result.events;
    summary_.damaged += result.damaged;
    if (result.repaired > 0)
      anomalies_.add("text_repaired", Severity::info,
                     "control characters or broken UTF-8 in names were replaced", path_,
                     result.repaired);
    if (result.consumed == 0 && !result.is_array_closed) {
      if (is_at_end_) {
        drop(size_);
        return false;
      }
      if (capacity_ >= kEventLimit) {
        if (!options_.keep_reading)
          fail(fmt::format("has an event of more than 256 MiB near byte {}", offset_ - size_));
        broken_off("");
        drop(size_);
        return false;
      }
      resize(capacity_ * 2);
      return false;
    }
    drop(result.consumed);
    if (!result.is_array_closed) {  // the comma of the cut
      std::size_t at = 0;
      while (at < size_ && (is_space(data()[at]) || data()[at] == ',')) ++at;
      drop(at);
    }
    return result.is_array_closed;
  }

  const std::string& path_;
  Anomalies& anomalies_;
  const Options& options_;
  std::unique_ptr<ByteSource> source_;
  WindowParser parser_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, size_ = 0, capacity_ = 0;
  std::uint64_t offset_ = 0;
  bool is_at_end_ = false, is_bare_array_ = false, is_in_string_ = false, is_escaped_ = false;
  std::int64_t depth_ = 0;
  Summary summary_;
};
}  // namespace

bool sniff(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  std::size_t at = 0;
  while (at < head.size() && is_space(head[at])) ++at;
  if (at == head.size()) return false;
  if (head[at] == '[') {  // a bare list must show an event's phase
    return head.find("\"ph\"") != std::string_view::npos;
  }
  if (head[at] != '{') return false;
  return head.find("\"traceEvents\"") != std::string_view::npos ||
         head.find("\"deviceProperties\"") != std::string_view::npos ||
         head.find("\"schemaVersion\"") != std::string_view::npos ||
         head.find("\"distributedInfo\"") != std::string_view::npos;
}

Summary read(const std::string& path, const Sink& sink, Anomalies& anomalies,
             const Options& options) {
  return Reader(path, sink, anomalies, options).read();
}
}  // namespace stepcast::chrome_json
