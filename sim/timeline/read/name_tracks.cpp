// Where a thread of a file stands among nodes, ranks and streams, from whatever names the file
// gives.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "sim/timeline/read/chrome_builder.hpp"

namespace stepcast::trace {
namespace {
/// The number behind a word: "rank 12 compute", "Rank_3", "worker7"; -1 without.
int number_behind(std::string_view text, std::string_view word, std::size_t* end_at = nullptr) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto at = lower.find(word);
  if (at == std::string::npos) return -1;
  at += word.size();
  while (at < lower.size() && (lower[at] == ' ' || lower[at] == '_' || lower[at] == '-' ||
                               lower[at] == '=' || lower[at] == ':' || lower[at] == '#'))
    ++at;
  int value = -1;
  const auto [end, error] = std::from_chars(lower.data() + at, lower.data() + lower.size(), value);
  if (error != std::errc{} || value < 0) return -1;
  if (end_at != nullptr) *end_at = static_cast<std::size_t>(end - lower.data());
  return value;
}
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == ',')) text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}
}  // namespace

void ChromeBuilder::name_tracks(int fallback_rank) {
  if (rank_ < 0 && is_kineto_ && !is_ours_) rank_ = fallback_rank;
  // Processes numbered 0 .. n-1 without names are ranks (what mergers of per-rank files write).
  std::set<std::int64_t> pids;
  bool has_process_names = false, are_pids_numbers = true;
  for (const TrackState& state : tracks_) {
    std::int64_t pid = -1;
    const auto [end, error] =
        std::from_chars(state.pid.data(), state.pid.data() + state.pid.size(), pid);
    if (error != std::errc{} || end != state.pid.data() + state.pid.size() || state.document > 0)
      are_pids_numbers = false;
    pids.insert(pid);
    const auto process = processes_.find({state.document, state.pid});
    has_process_names |= process != processes_.end() && !process->second.name.empty();
  }
  bool has_rank_in_threads = false;
  for (const TrackState& state : tracks_)
    has_rank_in_threads |= number_behind(state.thread_name, "rank") >= 0;
  const bool are_pids_ranks = are_pids_numbers && !has_process_names && !is_kineto_ &&
                              !has_rank_in_threads && pids.size() > 1 && *pids.begin() == 0 &&
                              *pids.rbegin() == static_cast<std::int64_t>(pids.size()) - 1;

  for (std::uint32_t t = 0; t < tracks_.size(); ++t) {
    const TrackState& state = tracks_[t];
    StoreBuilder::TrackSpec& spec = builder_.track(t);
    const auto found = processes_.find({state.document, state.pid});
    const ProcessState process = found == processes_.end() ? ProcessState{} : found->second;
    spec.pid = state.pid, spec.tid = state.tid, spec.sort = state.sort;
    spec.kind = state.kind != TrackKind::host_thread ? state.kind
                : state.is_device                    ? TrackKind::device_stream
                                                     : TrackKind::host_thread;
    spec.node = host_, spec.node_sort = 0, spec.rank = -1, spec.rank_label.clear();
    const std::string thread = !state.thread_name.empty() ? state.thread_name
                               : state.tid.empty()        ? "events"
                                                          : "thread " + state.tid;
    const std::string side_label =
        state.kind == TrackKind::async ? "async " + state.group : state.group;
    spec.label = state.kind == TrackKind::host_thread ? thread : side_label;
    const std::string process_name = !process.name.empty() ? process.name : "process " + state.pid;
    spec.process_key = fmt::format("{} {} {}", process_name, state.pid, state.document);
    spec.rank_sort = process.sort;

    if (is_kineto_ && !is_ours_) {  // one rank a file, whatever processes and devices it lists
      spec.rank = state.document == 0 ? rank_ : -1;
      spec.process_key = fmt::format("{} {}", path_, state.document);
      spec.rank_sort = 0;
      if (spec.rank < 0)
        spec.rank_label = path_.substr(path_.rfind('/') + 1) +
                          (state.document > 0 ? fmt::format(" #{}", state.document + 1) : "");
      if (state.is_device) {
        const bool is_named = state.thread_name.find("stream") != std::string::npos;
        spec.label = fmt::format("GPU {} {}", state.pid,
                                 is_named ? std::string(trimmed(state.thread_name))
                                 : state.tid.starts_with("stream") ? state.tid
                                                                   : "stream " + state.tid);
      } else if (state.kind == TrackKind::host_thread && !process.labels.empty() &&
                 process.labels != "CPU") {
        spec.label = process.labels + " " + thread;
      }
      continue;
    }
    std::size_t behind = 0;
    const int node = number_behind(process.name, "node");
    // Our own counters say whose they are: "rank 12 memory".
    if (const int rank = is_ours_ && state.kind == TrackKind::counter
                             ? number_behind(state.group, "rank", &behind)
                             : -1;
        rank >= 0) {
      spec.rank = rank, spec.node = process.name;
      spec.node_sort = process.has_sort ? process.sort : node;
      spec.label = trimmed(std::string_view(state.group).substr(behind));
      continue;
    }
    if (const int rank = number_behind(state.thread_name, "rank", &behind); rank >= 0) {
      const auto comma = state.thread_name.rfind(',');
      if (node >= 0 || is_ours_ ||
          comma == std::string::npos) {  // "rank 12 compute" of process "node 1"
        spec.rank = rank;
        if (const std::string stream(trimmed(std::string_view(state.thread_name).substr(behind)));
            !stream.empty())
          spec.label = stream;
      } else {  // "PP rank 0, TP rank 0, compute" of process 1
        spec.rank_label = state.thread_name.substr(0, comma);
        spec.process_key += "\n" + spec.rank_label;
        spec.label = std::string(trimmed(std::string_view(state.thread_name).substr(comma + 1)));
        spec.rank_sort = 0;
      }
      spec.node = is_ours_ ? process.name : process_name,
      spec.node_sort = process.has_sort ? process.sort : node;
      if (spec.kind == TrackKind::host_thread)
        spec.kind = state.has_stated_kind ? state.stated_kind : TrackKind::device_stream;
      continue;
    }
    if (const int rank = number_behind(process.name, "rank"); rank >= 0 && state.document == 0) {
      spec.rank = rank;
    } else if (are_pids_ranks) {
      spec.rank = static_cast<std::int32_t>(std::stol(state.pid));
    } else if (node >= 0) {
      spec.node = process_name, spec.node_sort = process.has_sort ? process.sort : node;
    }
    if (state.has_stated_kind) {  // a rank without number, exported by us: its process carries the
                                  // label
      spec.kind = state.stated_kind, spec.node = host_, spec.node_sort = 0, spec.rank = -1;
    }
    if (spec.rank < 0)
      spec.rank_label =
          process_name + (state.document > 0 ? fmt::format(" #{}", state.document + 1) : "");
  }
}
}  // namespace stepcast::trace
