#pragma once
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/timeline/store/trace_store.hpp"

/// Arguments of an event, fetched from its file when someone looks: they would be most of the
/// memory otherwise.
namespace stepcast::trace {
struct SliceArgs {
  std::string raw;  // the event's JSON as in the file
  std::vector<std::pair<std::string, std::string>>
      args;  // key, value as text; nested values as JSON
};
/// Empty where the file is gone, changed (the event at the offset has another name or time) or the
/// trace has no file. A plain file is read at the offset; a compressed one is inflated up to it
/// (500 MB/s), so call from a worker.
std::optional<SliceArgs> read_slice_args(const TraceStore& trace, SliceId slice,
                                         std::stop_token stop = {});
std::optional<SliceArgs> read_instant_args(const TraceStore& trace, std::size_t instant,
                                           std::stop_token stop = {});
}  // namespace stepcast::trace
