#pragma once
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "sim/timeline/store/trace_store.hpp"
#include "sim/timeline/timeline.hpp"

namespace stepcast::trace {
/// Collects events in any order and makes a TraceStore of them. Not shared between threads; ids of
/// tracks and ops are the builder's own until build(), which puts tracks into display order.
class StoreBuilder {
 public:
  StoreBuilder();
  ~StoreBuilder();
  StoreBuilder(StoreBuilder&&) noexcept;
  StoreBuilder& operator=(StoreBuilder&&) noexcept;

  std::uint32_t text(std::string_view text);
  OpId op(std::string_view name, std::string_view category, SliceCategory shown);
  std::uint32_t add_source(SourceFile file);

  struct TrackSpec {
    std::string node;        // label; "" = unknown
    std::int32_t rank = -1;  // -1: a process without rank, told apart by process_key
    std::string process_key, rank_label;
    TrackKind kind = TrackKind::host_thread;
    std::string pid, tid, label;
    std::uint32_t source = 0;
    std::int64_t node_sort = 0, rank_sort = 0,
                 sort = 0;  // display order; ties by label with numbers as numbers
  };
  std::uint32_t add_track(TrackSpec spec);
  TrackSpec& track(std::uint32_t track);
  std::size_t tracks() const;

  /// `duration` >= 0. `offset`: byte offset of the event in its file.
  void add_slice(std::uint32_t track, Nanoseconds start, Nanoseconds duration, OpId op,
                 std::uint64_t offset = 0);
  void add_instant(std::uint32_t track, Nanoseconds time, OpId op, std::uint64_t offset = 0);
  void add_counter(std::uint32_t track, std::string_view series, Nanoseconds time, double value);
  /// Ends are bound to the innermost slice that encloses them at build().
  /// `to_next`: the far end belongs to the next slice that starts, where none encloses it (Chrome's
  /// rule without "bp": "e").
  void add_flow(std::uint32_t from_track, Nanoseconds from, std::uint32_t to_track, Nanoseconds to,
                OpId op, bool to_next = false);
  /// Identity of the collective of the slice added last on any track.
  void identify_last_slice(std::string_view kind, std::string_view group, std::uint32_t group_size,
                           std::int64_t bytes);
  void add_metadata(std::uint32_t source, std::string_view key, std::string_view value);
  void set_origin(std::string_view origin);
  SourceFile& source(std::uint32_t source);
  /// Adds offsets[source] to every time of that source (clock alignment, a file's time base) in one
  /// pass; before build().
  void shift_sources(const std::vector<Nanoseconds>& offsets);
  /// A step that the file's events state themselves (args.step): widened by each call with the same
  /// rank and number.
  void widen_step(std::uint32_t track, std::int64_t number, Nanoseconds begin, Nanoseconds end);
  /// Takes everything of another builder (a file read by another thread); its sources, tracks and
  /// texts are mapped.
  void absorb(StoreBuilder&& other);

  std::size_t slices() const;
  Nanoseconds latest_end() const;
  struct BuildOptions {
    bool mark_overlapped = true;
    bool keep = false;  // the builder goes on being filled (a partial store); else it is emptied
                        // while the store grows
  };
  /// Null when stopped; the builder is then of no further use unless `keep`.
  TracePtr build(const BuildOptions& options, std::stop_token stop = {});

  struct State;  // builder_state.hpp

 private:
  std::unique_ptr<State> state_;
};
/// A simulated or measured timeline in memory, without a file behind it.
TracePtr store_of(const Timeline& timeline);
}  // namespace stepcast::trace
