#include "sim/import/nsys/nsys.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "sim/core/result.hpp"
#include "sim/import/common/byte_source.hpp"
#include "sim/import/common/nccl_identity.hpp"
#include "sim/import/common/step_accounting.hpp"

namespace stepcast::nsys {
namespace {
/// Compressed exports are inflated beside nothing else: SQLite needs a seekable file.
class PlainCopy {
 public:
  explicit PlainCopy(const std::string& path) : path_(path) {
    std::ifstream in(path, std::ios::binary);
    char magic[15] = {};
    in.read(magic, sizeof magic);
    if (std::string_view(magic, sizeof magic) == "SQLite format 3") return;
    if (!sniff(head_of(path, sizeof magic)))
      throw InputError(Problem{path, "", "is no SQLite database",
                               "give the output of nsys export --type sqlite"});
    copy_ = (std::filesystem::temp_directory_path() /
             fmt::format("stepcast-{}-{}.sqlite", getpid(), counter_++))
                .string();
    path_ = copy_;
    std::ofstream out(copy_, std::ios::binary);
    const auto source = open_bytes(path);
    std::vector<char> buffer(1 << 20);
    while (const std::size_t got = source->read(buffer.data(), buffer.size()))
      out.write(buffer.data(), static_cast<std::streamsize>(got));
    if (!out.flush()) throw EnvironmentError(copy_ + ": cannot be written");
  }
  PlainCopy(const PlainCopy&) = delete;
  PlainCopy& operator=(const PlainCopy&) = delete;
  ~PlainCopy() {
    std::error_code ignored;
    if (!copy_.empty()) std::filesystem::remove(copy_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_, copy_;
  static inline int counter_ = 0;
};

class Database {
 public:
  Database(const std::string& path, const std::string& shown) : shown_(shown) {
    if (sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) fail();
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(db_); }
  [[noreturn]] void fail() const {
    throw InputError(Problem{shown_, "",
                             std::string("is no readable SQLite export: ") + sqlite3_errmsg(db_),
                             "export again with nsys export --type sqlite"});
  }

  std::set<std::string> columns_of(const std::string& table) const {
    std::set<std::string> columns;
    each("PRAGMA table_info(\"" + table + "\")",
         [&](sqlite3_stmt* row) { columns.insert(text(row, 1)); });
    return columns;
  }
  template <class Row>
  void each(const std::string& query, Row&& row) const {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db_, query.c_str(), -1, &raw, nullptr) != SQLITE_OK) fail();
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
    int status = SQLITE_ROW;
    while ((status = sqlite3_step(raw)) == SQLITE_ROW) row(raw);
    if (status != SQLITE_DONE) fail();
  }
  static std::string text(sqlite3_stmt* row, int column) {
    const unsigned char* value = sqlite3_column_text(row, column);
    return value == nullptr
               ? ""
               : std::string(reinterpret_cast<const char*>(value),
                             static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
  }

 private:
  std::string shown_;
  sqlite3* db_ = nullptr;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), copy_(path), db_(copy_.path(), path) {}
  std::vector<RankTrace> read() {
    if (!db_.columns_of("StringIds").empty())
      db_.each("SELECT id, value FROM StringIds", [&](sqlite3_stmt* r) {
        strings_[sqlite3_column_int64(r, 0)] = Database::text(r, 1);
      });
    if (!db_.columns_of("TARGET_INFO_GPU").empty())
      db_.each("SELECT id, name FROM TARGET_INFO_GPU",
               [&](sqlite3_stmt* r) { gpus_[sqlite3_column_int64(r, 0)] = Database::text(r, 1); });
    device_table("CUPTI_ACTIVITY_KIND_KERNEL", EventKind::kernel);
    device_table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                 EventKind::kernel);  // a whole CUDA graph, where its kernels were not recorded
    device_table("CUPTI_ACTIVITY_KIND_MEMCPY", EventKind::copy);
    device_table("CUPTI_ACTIVITY_KIND_MEMSET", EventKind::memset);
    if (traces_.empty())
      throw InputError(Problem{path_, "",
                               "holds no device work (no CUPTI_ACTIVITY_KIND_KERNEL rows)",
                               "record with nsys profile --trace=cuda,nvtx and export again"});
    host_calls();
    ranges();
    std::vector<RankTrace> result;
    int rank = 0;
    for (auto& [key, trace] : traces_) {
      trace.rank = rank++;
      for (auto& [track, list] : communication_[&trace])
        std::sort(list.begin(), list.end(),
                  [](const Range& a, const Range& b) { return a.start < b.start; });
      finish_events(trace);
      for (std::uint32_t i = 0; i < trace.events.size(); ++i)
        name_collective(trace, trace.events[i]);
      find_steps(trace);
      if (lacks_kernels(trace))
        trace.anomalies.add("no_kernel_rows", Severity::error,
                            "the export has copies or sets of this device and no compute kernel: "
                            "its compute is unknown, not zero, and host ranges do not stand for "
                            "it; record with nsys profile --trace=cuda,nvtx",
                            path_);
      result.push_back(std::move(trace));
    }
    for (RankTrace& trace : result) {
      trace.world = static_cast<int>(result.size());
      trace.anomalies.add("rank_per_device", Severity::info,
                          "each device of each process counts as one rank, numbered in order",
                          path_);
    }
    return result;
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // (process, device)
  static constexpr std::int64_t kProcessMask =
      ~std::int64_t{0xFFFFFF};  // the low 24 bits of a global id are the thread

  std::string name_of(sqlite3_stmt* row, int column) const {
    if (sqlite3_column_type(row, column) != SQLITE_INTEGER) return Database::text(row, column);
    const auto found = strings_.find(sqlite3_column_int64(row, column));
    return found == strings_.end() ? "?" : found->second;
  }
  std::uint32_t track_of(RankTrace& trace, bool is_device, std::int64_t process,
                         std::int64_t thread, const std::string& label) {
    const auto [at, is_new] = tracks_[&trace].emplace(
        std::pair{is_device, thread}, static_cast<std::uint32_t>(trace.tracks.size()));
    if (is_new) trace.tracks.push_back({is_device, process, thread, label});
    return at->second;
  }
  void device_table(const std::string& table, EventKind kind) {
    const auto columns = db_.columns_of(table);
    if (columns.empty()) return;
    for (const char* needed : {"start", "end", "deviceId", "streamId"})
      if (!columns.contains(needed))
        throw InputError(Problem{path_, table, std::string("has no column ") + needed, ""});
    const auto column = [&](const char* name, const char* otherwise) {
      return columns.contains(name) ? std::string("\"") + name + "\"" : std::string(otherwise);
    };
    const bool is_graph = table == "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    const std::string name = columns.contains("shortName")       ? "shortName"
                             : columns.contains("demangledName") ? "demangledName"
                             : columns.contains("name")          ? "name"
                                                                 : "NULL";
    db_.each(fmt::format("SELECT start, \"end\", deviceId, streamId, {}, {}, {} FROM {}",
                         column("correlationId", "0"), column("globalPid", "0"), name, table),
             [&](sqlite3_stmt* r) {
               const std::int64_t start = sqlite3_column_int64(r, 0),
                                  end = sqlite3_column_int64(r, 1),
                                  device = sqlite3_column_int64(r, 2),
                                  stream = sqlite3_column_int64(r, 3);
               const std::int64_t process = sqlite3_column_int64(r, 5) & kProcessMask;
               RankTrace& trace = traces_[{process, device}];
               ++trace.entries_read;
               if (trace.file.empty())
                 trace.file = path_, trace.format = "nsys",
                 trace.devices = {gpus_.contains(device) ? gpus_[device] : ""};
               if (end < start) {
                 ++trace.entries_lost;
                 trace.anomalies.add("negative_duration", Severity::warning,
                                     "rows that end before they start are lost", path_);
                 return;
               }
               TraceEvent e;
               e.start = start, e.duration = end - start,
               e.correlation = static_cast<std::uint32_t>(sqlite3_column_int64(r, 4));
               const std::string text = is_graph                    ? "CUDA graph"
                                        : kind == EventKind::copy   ? "Memcpy"
                                        : kind == EventKind::memset ? "Memset"
                                                                    : name_of(r, 6);
               e.kind = kind == EventKind::kernel && is_communication_kernel(text)
                            ? EventKind::collective
                            : kind;
               e.name = trace.names.id_of(text);
               e.track = track_of(trace, true, device, stream,
                                  fmt::format("GPU {} stream {}", device, stream));
               trace.events.push_back(e);
             });
  }
  /// Host calls go to every rank of their process: which device a call meant shows in its
  /// correlation only.
  void host_calls() {
    const auto columns = db_.columns_of("CUPTI_ACTIVITY_KIND_RUNTIME");
    if (columns.empty()) return;
    for (const char* needed : {"start", "end", "globalTid", "correlationId"})
      if (!columns.contains(needed)) {
        traces_.begin()->second.anomalies.add(
            "host_calls_unreadable", Severity::warning,
            "the table of host calls lacks a column: launches and host pauses are unknown",
            path_ + " CUPTI_ACTIVITY_KIND_RUNTIME/" + needed);
        return;
      }
    std::map<std::pair<std::int64_t, std::uint32_t>, RankTrace*> owner;  // (process, correlation)
    std::map<std::int64_t, std::vector<RankTrace*>> of_process;
    for (auto& [key, trace] : traces_) {
      of_process[key.first].push_back(&trace);
      for (const TraceEvent& e : trace.events)
        if (e.correlation != 0) owner[{key.first, e.correlation}] = &trace;
    }
    db_.each(
        fmt::format(
            "SELECT start, \"end\", globalTid, correlationId, {} FROM CUPTI_ACTIVITY_KIND_RUNTIME",
            columns.contains("nameId") ? "nameId"
            : columns.contains("name") ? "name"
                                       : "NULL"),
        [&](sqlite3_stmt* r) {
          const std::int64_t thread = sqlite3_column_int64(r, 2), process = thread & kProcessMask;
          const auto correlation = static_cast<std::uint32_t>(sqlite3_column_int64(r, 3));
          RankTrace* trace = nullptr;
          if (const auto found = owner.find({process, correlation}); found != owner.end())
            trace = found->second;
          else if (const auto all = of_process.find(process);
                   all != of_process.end() && all->second.size() == 1)
            trace = all->second.front();
          if (trace == nullptr) {
            ++unowned_;
            return;
          }
          ++trace->entries_read;
          TraceEvent e;
          e.start = sqlite3_column_int64(r, 0),
          e.duration = std::max<std::int64_t>(0, sqlite3_column_int64(r, 1) - e.start),
          e.correlation = correlation;
          std::string name = name_of(r, 4);
          if (const auto version = name.rfind("_v");
              version != std::string::npos && version + 2 < name.size())
            name.resize(version);
          e.kind =
              name.find("ynchronize") != std::string::npos ? EventKind::sync
              : name.find("Launch") != std::string::npos || name.find("Async") != std::string::npos
                  ? EventKind::launch
                  : EventKind::runtime;
          e.name = trace->names.id_of(name);
          e.track =
              track_of(*trace, false, process, thread, fmt::format("thread {}", thread & 0xFFFFFF));
          trace->events.push_back(e);
        });
    if (unowned_ > 0)
      traces_.begin()->second.anomalies.add(
          "host_call_without_device", Severity::info,
          "host calls of a process with several devices that launch nothing belong to no rank",
          path_, unowned_);
  }
  void ranges() {
    const auto columns = db_.columns_of("NVTX_EVENTS");
    if (columns.empty() || !columns.contains("globalTid") || !columns.contains("end")) return;
    if (!columns.contains("text") && !columns.contains("textId")) return;
    const std::string text = !columns.contains("textId") ? "text"
                             : columns.contains("text")  ? "COALESCE(text, textId)"
                                                         : "textId";
    const std::string payload = columns.contains("jsonText") ? "jsonText" : "NULL";
    db_.each("SELECT start, \"end\", globalTid, " + text + ", " + payload +
                 " FROM NVTX_EVENTS WHERE \"end\" IS NOT NULL",
             [&](sqlite3_stmt* r) {
               const std::int64_t thread = sqlite3_column_int64(r, 2),
                                  process = thread & kProcessMask;
               for (auto& [key, trace] : traces_) {
                 if (key.first != process) continue;
                 ++trace.entries_read;
                 TraceEvent e;
                 e.start = sqlite3_column_int64(r, 0),
                 e.duration = std::max<std::int64_t>(0, sqlite3_column_int64(r, 1) - e.start);
                 e.kind = EventKind::annotation;
                 // PyTorch appends what differs between calls: "aten::mm, seq = 5, op_id = 990346,
                 // sizes = [[8, 4], [4, 2]]".
                 std::string name = name_of(r, 3);
                 if (const auto more = std::min(name.find(", op_id = "), name.find(", seq = "));
                     more != std::string::npos) {
                   name.resize(more);
                   e.kind = EventKind::host_op;  // an operator, which may repeat many times a step
                 }
                 e.name = trace.names.id_of(name);
                 e.track = track_of(trace, false, process, thread,
                                    fmt::format("thread {}", thread & 0xFFFFFF));
                 trace.events.push_back(e);
                 if (name.starts_with("nccl"))
                   communication_[&trace][e.track].push_back(
                       {e.start, e.end(), name, bytes_in(Database::text(r, 4))});
               }
             });
  }
  /// Message size out of the payload that NCCL gives its ranges: {"Message size [bytes]": 1024,
  /// ...}; 0 where there is none.
  static std::int64_t bytes_in(const std::string& payload) {
    const auto at = payload.find("essage size");
    if (at == std::string::npos) return 0;
    const auto digit = payload.find_first_of("0123456789", payload.find(':', at));
    std::int64_t value = 0;
    if (digit == std::string::npos ||
        std::from_chars(payload.data() + digit, payload.data() + payload.size(), value).ec !=
            std::errc{})
      return 0;
    return std::clamp<std::int64_t>(value, 0, std::int64_t{1} << 50);
  }
  struct Range {
    Nanoseconds start, end;
    std::string name;
    std::int64_t bytes;
  };
  /// PyTorch's "nccl:all_to_all" around the launch tells the collective; else NCCL's own
  /// "ncclAllReduce"; else the kernel's name.
  void name_collective(RankTrace& trace, TraceEvent& e) {
    if (e.kind != EventKind::collective) return;
    CollectiveCall call;
    call.name = trace.names.text_of(e.name);
    const Range* best = nullptr;
    if (e.launch != kNone) {
      const TraceEvent& launch = trace.events[e.launch];
      const auto& list = communication_[&trace][launch.track];
      auto after = std::upper_bound(list.begin(), list.end(), launch.start,
                                    [](Nanoseconds t, const Range& r) { return t < r.start; });
      // A group of messages opens at most a few hundred ranges before its launch.
      for (int look = 0; after != list.begin() && look < 512; ++look) {
        const Range& range = *--after;
        if (range.end < launch.start || !collective_named_in(range.name)) continue;
        if (best == nullptr || range.name.starts_with("nccl:") || !best->name.starts_with("nccl:"))
          best = &range;
        if (range.bytes > 0) call.bytes = range.bytes;
      }
    }
    bool is_known = false;
    if (best != nullptr)
      call.name = best->name, call.source = CollectiveSource::annotation,
      call.collective = collective_named_in(best->name);
    else
      call.collective = collective_named_in(call.name, &is_known),
      call.source = is_known ? CollectiveSource::kernel_name : CollectiveSource::unknown;
    if (best == nullptr)
      trace.anomalies.add("collective_from_kernel_name", Severity::warning,
                          "no NVTX range tells the collective: the kernel's name is believed, "
                          "which may name another; record with --trace=nvtx",
                          trace.file);
    if (call.bytes == 0)
      trace.anomalies.add(
          "collective_without_size", Severity::info,
          "Nsight keeps message sizes only in NCCL's payloads, which this export lacks",
          trace.file);
    e.collective = static_cast<std::uint32_t>(trace.collectives.size());
    trace.collectives.push_back(std::move(call));
  }

  std::string path_;
  PlainCopy copy_;
  Database db_;
  std::map<std::int64_t, std::string> strings_, gpus_;
  std::map<const RankTrace*, std::map<std::uint32_t, std::vector<Range>>>
      communication_;  // by host track
  std::map<Key, RankTrace> traces_;
  std::map<const RankTrace*, std::map<std::pair<bool, std::int64_t>, std::uint32_t>> tracks_;
  std::int64_t unowned_ = 0;
};
}  // namespace

bool sniff(std::string_view head) { return head.starts_with("SQLite format 3"); }
std::vector<RankTrace> read_export(const std::string& path) { return Reader(path).read(); }
}  // namespace stepcast::nsys
