#include "sim/timeline/chrome_trace.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>

#include "sim/core/assert.hpp"

namespace stepcast {
namespace {
constexpr std::size_t kChunk = std::size_t{1} << 18;  // bytes gathered before a write: keeps memory flat for any length

/// Text into a file or a gzip stream, chunk by chunk; the file appears under its name when complete.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path) : path_(path), temporary_(path + ".part" + std::to_string(getpid())) {
    std::error_code ignored;
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
    // "T" writes without compression through the same calls.
    file_ = gzopen(temporary_.c_str(), path.ends_with(".gz") ? "wb6" : "wbT");
    if (file_ == nullptr) throw EnvironmentError(path_ + ": cannot be created: " + std::strerror(errno));
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() {
    if (file_ == nullptr) return;
    gzclose(file_);
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kChunk) flush();
  }
  void finish() {
    flush();
    const int closed = gzclose(file_);
    file_ = nullptr;
    std::error_code error;
    if (closed == Z_OK) std::filesystem::rename(temporary_, path_, error);
    if (closed != Z_OK || error) throw EnvironmentError(path_ + ": cannot be written");
  }

 private:
  void flush() {
    if (!buffer_.empty() && gzwrite(file_, buffer_.data(), static_cast<unsigned>(buffer_.size())) != static_cast<int>(buffer_.size()))
      throw EnvironmentError(path_ + ": cannot be written: " + std::strerror(errno));
    buffer_.clear();
  }
  std::string path_, temporary_, buffer_;
  gzFile file_ = nullptr;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') { out += '\\'; out += c; }
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else out += c;
  }
  return out + '"';
}

/// Microseconds with the nanoseconds as decimals, exact: 1234567 ns -> "1234.567".
std::string us_text(Nanoseconds ns) {
  const bool is_negative = ns < 0;
  const auto size = static_cast<std::uint64_t>(is_negative ? -ns : ns);
  return fmt::format("{}{}.{:03}", is_negative ? "-" : "", size / 1000, size % 1000);
}
}  // namespace

void write_chrome_trace(const Timeline& timeline, const std::string& path) {
  TraceFile out(path);
  // Tracks of a rank stand together, in the order in which the timeline lists them; tid counts from 1 within a node
  // because 0 is drawn as the process itself by some viewers.
  std::map<int, int> tracks_of_node;
  std::vector<int> tid(timeline.tracks.size());
  std::vector<std::size_t> order(timeline.tracks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(timeline.tracks[a].node, timeline.tracks[a].rank) < std::pair(timeline.tracks[b].node, timeline.tracks[b].rank);
  });
  for (const std::size_t i : order) tid[i] = ++tracks_of_node[timeline.tracks[i].node];

  out.add("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"origin\":{},\"writer\":\"stepcast\"}},\"traceEvents\":[\n", quoted(timeline.origin));
  const char* separator = "";
  const auto next = [&] { const char* s = separator; separator = ",\n"; return s; };
  for (const auto& [node, count] : tracks_of_node) {
    out.add("{}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":\"node {}\"}}}}", next(), node, node);
    out.add("{}{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{},\"tid\":0,\"args\":{{\"sort_index\":{}}}}}", next(), node, node);
  }
  for (const std::size_t i : order) {
    const Track& track = timeline.tracks[i];
    out.add("{}{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", next(), track.node, tid[i],
            quoted(fmt::format("rank {} {}", track.rank, track.stream)));
    out.add("{}{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{},\"tid\":{},\"args\":{{\"sort_index\":{}}}}}", next(), track.node, tid[i], tid[i]);
  }
  for (const Span& span : timeline.spans) {
    STEPCAST_ASSERT(span.track < timeline.tracks.size() && span.end >= span.start, "spans lie on tracks and do not run backwards");
    const Track& track = timeline.tracks[span.track];
    out.add("{}{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{\"rank\":{}", next(),
            quoted(timeline.names.text_of(span.name)), text_of(span.category), track.node, tid[span.track], us_text(span.start),
            us_text(span.end - span.start), track.rank);
    if (span.micro_batch >= 0) out.add(",\"micro_batch\":{}", span.micro_batch);
    out.add("}}}}");
  }
  std::size_t id = 0;
  for (const Flow& flow : timeline.flows) {
    ++id;
    const Track& from = timeline.tracks[flow.from_track];
    const Track& to = timeline.tracks[flow.to_track];
    const std::string name = quoted(timeline.names.text_of(flow.name));
    out.add("{}{{\"ph\":\"s\",\"id\":{},\"name\":{},\"cat\":\"flow\",\"pid\":{},\"tid\":{},\"ts\":{}}}", next(), id, name, from.node, tid[flow.from_track], us_text(flow.from));
    // bp "e": the arrow ends at the slice that encloses the moment, also when it starts exactly there.
    out.add("{}{{\"ph\":\"f\",\"bp\":\"e\",\"id\":{},\"name\":{},\"cat\":\"flow\",\"pid\":{},\"tid\":{},\"ts\":{}}}", next(), id, name, to.node, tid[flow.to_track], us_text(flow.to));
  }
  out.add("\n]}}\n");
  out.finish();
}
}  // namespace stepcast
