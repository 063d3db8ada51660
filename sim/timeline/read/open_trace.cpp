#include "sim/timeline/read/open_trace.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "sim/core/result.hpp"
#include "sim/import/chrome_json/chrome_json.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/timeline/cache/cache.hpp"
#include "sim/timeline/read/align_files.hpp"
#include "sim/timeline/read/chrome_builder.hpp"
#include "sim/timeline/read/trace_files.hpp"

namespace stepcast::trace {
namespace {
using Clock = std::chrono::steady_clock;
constexpr auto kProgressEvery = std::chrono::milliseconds(50);
constexpr auto kFirstPartial = std::chrono::milliseconds(300);
/// Windows are small so that a stop is answered quickly on the slowest disk, and large beside an
/// event.
constexpr std::size_t kWindow = std::size_t{2} << 20;

void merge(ImportReport& into, ImportReport&& from) {
  for (auto& file : from.files) into.files.push_back(std::move(file));
  into.events += from.events;
  for (std::size_t i = 0; i < into.events_by_phase.size(); ++i)
    into.events_by_phase[i] += from.events_by_phase[i];
  into.instants += from.instants, into.counter_values += from.counter_values,
      into.flow_arrows += from.flow_arrows;
  into.metadata += from.metadata, into.lost += from.lost;
  into.is_cancelled |= from.is_cancelled;
  into.anomalies.add(from.anomalies);
}

class Opening {
 public:
  Opening(const std::vector<std::string>& paths, const OpenOptions& options)
      : options_(options), begun_(Clock::now()) {
    files_ = trace_files(paths, report_.anomalies);
    std::error_code error;
    for (const std::string& file : files_) {
      const auto size = std::filesystem::file_size(file, error);
      sizes_.push_back(error ? 0 : size);
      progress_.total_bytes += sizes_.back();
    }
    progress_.total_files = files_.size();
    next_partial_ = begun_ + kFirstPartial;
  }
  const std::vector<std::string>& files() const { return files_; }

  OpenResult run() {
    if (files_.size() == 1) {
      read_one(0, true);
    } else {
      std::vector<std::jthread> workers;
      const std::size_t count = std::clamp<std::size_t>(
          static_cast<std::size_t>(std::max(1, options_.threads)), 1, files_.size());
      std::exception_ptr failure;
      const auto work = [&] {
        try {
          for (std::size_t i = next_file_++; i < files_.size() && !options_.stop.stop_requested();
               i = next_file_++)
            read_one(i, false);
        } catch (...) {
          const std::scoped_lock lock(mutex_);
          failure = std::current_exception();
        }
      };
      for (std::size_t i = 1; i < count; ++i) workers.emplace_back(work);
      work();
      workers.clear();
      if (failure) std::rethrow_exception(failure);
      if (report_.files.empty() && !options_.stop.stop_requested() && first_error_)
        throw InputError(*first_error_);
    }
    return finished();
  }

 private:
  /// Reads a file; its slices go to the common builder.
  void read_one(std::size_t index, bool is_alone) {
    ImportReport report;
    ChromeBuilder file(files_[index], report);
    const int named_rank = kineto::rank_in_name(files_[index]);
    ImportReport::File entry;
    entry.path = files_[index], entry.file_bytes = sizes_[index];
    chrome_json::Options options;
    options.keep_reading = true;
    options.window = kWindow;
    options.on_document = [&](const std::string& metadata) { file.end_document(metadata); };
    std::uint64_t before = 0;
    std::int64_t events_before = 0;
    options.on_window = [&](std::uint64_t, std::uint64_t on_disk) {
      {
        const std::scoped_lock lock(mutex_);
        progress_.bytes += on_disk - std::min(before, on_disk);
        progress_.events += file.events() - events_before;
        say("reading " + files_[index].substr(files_[index].rfind('/') + 1));
      }
      before = std::max(before, on_disk), events_before = file.events();
      if (is_alone) publish(file.builder(), [&] { file.name_tracks(named_rank); });
      return !options_.stop.stop_requested();
    };
    try {
      const auto summary = chrome_json::read(
          files_[index], [&](const chrome_json::RawEvent& event) { file.take(event); },
          report.anomalies, options);
      entry.bytes = summary.bytes;
      entry.is_complete = !summary.is_broken_off && !summary.is_stopped;
      report.is_cancelled = summary.is_stopped;
      report.lost += summary.damaged;
      report.events += summary.damaged;
    } catch (const InputError& error) {
      if (is_alone) throw;
      const std::scoped_lock lock(mutex_);
      report_.anomalies.add("file_unreadable", Severity::error,
                            "a file of the folder could not be read and is left out", error.what());
      if (!first_error_) first_error_ = error.problems;
      return;
    }
    entry.events = file.events();
    if (!options_.stop.stop_requested()) file.finish(named_rank);
    entry.format = file.format();
    report.files.push_back(std::move(entry));

    const std::scoped_lock lock(mutex_);
    ++progress_.files;
    FileClock clock;
    clock.index = index, clock.path = files_[index], clock.rank = file.rank(),
    clock.marks = file.collectives(), clock.steps = file.steps();
    std::uint32_t keys = 0;
    for (const CollectiveMark& mark : clock.marks) keys = std::max(keys, mark.key + 1);
    for (std::uint32_t key = 0; key < keys; ++key) clock.keys.push_back(file.mark_key(key));
    merge(report_, std::move(report));
    if (is_alone) {
      builder_ = std::move(file.builder());
      return;
    }
    separate_equal_rank(file, index);
    clock.first_source = sources_, clock.sources = file.sources();
    sources_ += clock.sources;
    clocks_.push_back(std::move(clock));
    builder_.absorb(std::move(file.builder()));
    publish(builder_, [] {});
  }
  /// Two files of one rank (two captures, two workers of different jobs) stay apart.
  void separate_equal_rank(ChromeBuilder& file, std::size_t index) {
    if (file.rank() < 0) return;
    const auto [at, is_new] = path_of_rank_.try_emplace(file.rank(), files_[index]);
    if (is_new) return;
    report_.anomalies.add(
        "rank_duplicate", Severity::warning,
        "two files state the same rank; the second stands on its own rows under its file's name",
        files_[index]);
    for (std::uint32_t t = 0; t < file.builder().tracks(); ++t) {
      StoreBuilder::TrackSpec& spec = file.builder().track(t);
      spec.rank_label = "rank " + std::to_string(spec.rank) + " (" +
                        files_[index].substr(files_[index].rfind('/') + 1) + ")";
      spec.process_key = files_[index];
      spec.rank = -1;
    }
  }

  void say(const std::string& doing) {
    if (!options_.on_progress || Clock::now() < next_progress_) return;
    next_progress_ = Clock::now() + kProgressEvery;
    progress_.doing = doing;
    options_.on_progress(progress_);
  }
  template <class Prepare>
  void publish(StoreBuilder& builder, Prepare&& prepare) {
    if (!options_.on_partial || builder.slices() == 0 || Clock::now() < next_partial_) return;
    const auto before = Clock::now();
    prepare();
    if (TracePtr trace = builder.build({.mark_overlapped = false, .keep = true}, options_.stop)) {
      last_partial_ = trace;
      options_.on_partial(std::move(trace));
    }
    // At most a tenth of the time goes into partial results.
    const auto cost = Clock::now() - before;
    next_partial_ = Clock::now() + std::max<Clock::duration>(cost * 9, kFirstPartial);
  }

  OpenResult finished() {
    OpenResult result;
    report_.is_cancelled |= options_.stop.stop_requested();
    if (!report_.is_cancelled) {
      if (options_.align_clocks && clocks_.size() > 1) {
        say("aligning clocks");
        std::stable_sort(clocks_.begin(), clocks_.end(),
                         [](const FileClock& a, const FileClock& b) { return a.index < b.index; });
        align_files(clocks_, builder_, report_.anomalies);
      }
      say("sorting");
      result.trace = builder_.build({.mark_overlapped = options_.mark_overlapped, .keep = false},
                                    options_.stop);
    } else if (last_partial_ == nullptr && builder_.slices() <= kQuickBuild) {
      result.trace = builder_.build({.mark_overlapped = false, .keep = false});
    }
    if (result.trace == nullptr) {  // stopped: what was shown last
      report_.is_cancelled = true;
      result.trace = last_partial_ != nullptr
                         ? last_partial_
                         : std::make_shared<const TraceStore>(TraceStore::Parts{});
    }
    report_.slices = static_cast<std::int64_t>(result.trace->slices());
    report_.seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    result.report = std::move(report_);
    return result;
  }
  static constexpr std::size_t kQuickBuild = 500'000;  // slices: below 100 ms

  const OpenOptions& options_;
  Clock::time_point begun_, next_progress_{}, next_partial_{};
  std::vector<std::string> files_;
  std::vector<std::uint64_t> sizes_;
  OpenProgress progress_;
  std::mutex mutex_;  // everything below, and the callbacks
  ImportReport report_;
  StoreBuilder builder_;
  std::vector<FileClock> clocks_;
  std::uint32_t sources_ = 0;
  std::map<int, std::string> path_of_rank_;
  std::optional<Problems> first_error_;
  TracePtr last_partial_;
  std::atomic<std::size_t> next_file_{0};
};
}  // namespace

OpenResult open_trace(const std::vector<std::string>& paths, const OpenOptions& options) {
  Opening opening(paths, options);
  const std::string cache =
      options.cache_folder.empty() ? "" : cache_path(opening.files(), options.cache_folder);
  if (!cache.empty())
    if (auto cached = read_cache(cache, opening.files()))
      return {std::move(cached->trace), std::move(cached->report), true};
  OpenResult result = opening.run();
  if (!cache.empty() && !result.report.is_cancelled) {
    if (options.on_partial) options.on_partial(result.trace);  // shown while the cache is written
    if (write_cache(cache, opening.files(), *result.trace, result.report))
      trim_cache(options.cache_folder, options.cache_limit_bytes);
  }
  return result;
}
}  // namespace stepcast::trace
