#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sim/core/units.hpp"
#include "sim/import/common/anomalies.hpp"

/// Streaming reader of Chrome trace JSON: what PyTorch, Horovod and TensorFlow profilers write.
///   {"schemaVersion": 1, ..., "traceEvents": [ {event}, {event}, ... ], "traceName": ...}      or
///   a bare [ {event}, ...
/// The file passes through one window of a few MB that is cut between two events and parsed by
/// simdjson, so memory does not grow with the file, a damaged byte costs one event and no document
/// is too long. Compressed input is inflated on the way.
namespace stepcast::chrome_json {

/// One event; the views live until the sink returns. Texts are raw JSON (escapes kept, no quotes).
struct RawEvent {
  char phase = '?';  // X complete, i instant, s/t/f flow, M metadata, B/E begin and end, C counter
  std::string_view category, name, pid, tid, id;
  std::string_view args;  // the whole object with braces, or empty
  Nanoseconds start = 0, duration = 0;
  bool has_start = false, has_duration = false;
  std::uint64_t offset =
      0;  // of its brace in the inflated file; within a repaired window of a damaged file too
  // Only where has_rare is set: id2 is an object of local or global ids, bp "e" binds an arrow to
  // what encloses it, bind_id with flow_in and flow_out makes a slice the end of an arrow.
  std::string_view id2, bind_id;
  bool has_rare = false, binds_enclosing = false, has_flow_in = false, has_flow_out = false;
};
using Sink = std::function<void(const RawEvent&)>;

struct Options {
  bool allow_partial =
      false;  // a file that breaks off gives what it holds (counted) where it is refused otherwise
  std::size_t window = std::size_t{4} << 20;
  /// For a viewer: whatever is readable is given and every loss is counted, also damaged
  /// compression, several documents joined in one file and an empty list; only what is no such
  /// document at all is refused.
  bool keep_reading = false;
  /// After each document with its text without events, in order.
  std::function<void(const std::string& metadata)> on_document;
  /// After each window: bytes of the inflated file and of the file on disk that are done. False
  /// stops the reading.
  std::function<bool(std::uint64_t inflated, std::uint64_t on_disk)> on_window;
};
struct Summary {
  std::string metadata;  // the document without its events: "{...}" with "traceEvents": [], or ""
                         // for a bare array
  std::int64_t events = 0, damaged = 0;
  std::uint64_t bytes = 0;  // inflated
  int documents = 0;
  bool is_broken_off = false,
       is_stopped = false;  // with allow_partial or keep_reading; by on_window
};

/// True when the text begins like such a document.
bool sniff(std::string_view head);
/// Throws InputError: not such a document, no events, broken off (unless allow_partial), a second
/// document behind it.
Summary read(const std::string& path, const Sink& sink, Anomalies& anomalies,
             const Options& options = {});

/// "4458676522690.655" microseconds -> nanoseconds, exactly (a double would lose them after 2^53
/// ns). False: not a time.
bool nanoseconds_of(std::string_view microseconds, Nanoseconds& out);
/// The value of a key in a raw JSON object, outermost level only: text without quotes, or the raw
/// token; empty when absent.
std::string_view value_of(std::string_view object, std::string_view key);
/// Raw JSON text -> plain text (\n, \", \uXXXX).
std::string unescaped(std::string_view raw);
/// Index just behind the string that opens at `at`; the text's size where it does not end.
std::size_t behind_string(std::string_view text, std::size_t at);
/// The number, word, list or object that begins at `at`, up to the comma or bracket that ends it,
/// without space behind.
std::string_view token_at(std::string_view text, std::size_t at);
inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
}  // namespace stepcast::chrome_json
