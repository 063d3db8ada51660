#include "sim/import/costs/kernel_samples.hpp"

#include <algorithm>
#include <map>

#include "sim/core/robust_stats.hpp"
#include "sim/import/common/collective_match.hpp"
#include "sim/import/common/intervals.hpp"
#include "sim/import/costs/op_shapes.hpp"
#include "sim/profile/kernel_key.hpp"

namespace stepcast {
namespace {
/// Innermost operator with a shape around each launch of a thread, by a sweep over both in time.
std::vector<std::uint32_t> operators_of_launches(const RankTrace& trace) {
  std::vector<std::uint32_t> result(trace.events.size(), kNone);
  std::map<std::uint32_t, std::vector<std::uint32_t>> open;  // track -> stack
  for (std::uint32_t i = 0; i < trace.events.size();
       ++i) {  // by start; enclosing ranges stand first
    const TraceEvent& e = trace.events[i];
    if (trace.tracks[e.track].is_device) continue;
    if (e.kind != EventKind::host_op && e.kind != EventKind::launch) continue;
    auto& stack = open[e.track];
    while (!stack.empty() && trace.events[stack.back()].end() <= e.start) stack.pop_back();
    if (e.kind == EventKind::launch && !stack.empty()) result[i] = stack.back();
    if (e.kind == EventKind::host_op && e.shape != kNone) stack.push_back(i);
  }
  return result;
}
Intervals communication_of_device(const RankTrace& trace) {
  Intervals busy;
  for (const TraceEvent& e : trace.events)
    if (e.kind == EventKind::collective && trace.tracks[e.track].is_device)
      busy.add(e.start, e.end());
  return busy;
}
bool overlaps(const Intervals& busy, Nanoseconds start, Nanoseconds end) {
  const auto& list = busy.merged();
  auto after = std::upper_bound(list.begin(), list.end(), std::pair{end, end});
  return after != list.begin() && std::prev(after)->second > start;
}
}  // namespace

double KernelSample::median_s() const { return median(seconds); }

std::vector<KernelSample> kernel_samples(std::span<const RankTrace> traces, Anomalies& anomalies) {
  std::map<std::string, KernelSample> by_key;
  for (const RankTrace& trace : traces) {
    const auto operator_of = operators_of_launches(trace);
    const Intervals communication = communication_of_device(trace);
    struct Call {
      double seconds = 0, longest = 0;
      std::uint32_t kernel = kNone;
      bool is_disturbed = false;
    };
    std::map<std::pair<std::uint32_t, int>, Call> calls;  // (operator, pass)
    std::int64_t shapeless = 0, disturbed = 0;
    for (const TraceEvent& e : trace.events) {
      if (e.kind != EventKind::kernel || e.launch == kNone || operator_of[e.launch] == kNone)
        continue;
      const std::uint32_t at = operator_of[e.launch];
      const std::string& kernel = trace.names.text_of(e.name);
      // The two gradients of a convolution are two entries; of everything else all kernels count
      // together.
      const bool is_weight = kernel.find("wgrad") != std::string::npos ||
                             kernel.find("bwd_weight") != std::string::npos;
      const bool is_data =
          kernel.find("dgrad") != std::string::npos || kernel.find("bwd_data") != std::string::npos;
      const bool is_split =
          trace.names.text_of(trace.events[at].name) == "aten::convolution_backward";
      Call& call = calls[{at, is_split ? (is_weight ? 2 : is_data ? 1 : 3) : 0}];
      const double seconds = seconds_from_ns(e.duration).value;
      call.seconds += seconds;
      // Kernels of no recorded duration exist; the first names the call until a longer one comes.
      if (call.kernel == kNone || seconds > call.longest)
        call.longest = seconds, call.kernel = e.name;
      call.is_disturbed = call.is_disturbed || overlaps(communication, e.start, e.end());
    }
    for (const auto& [place, call] : calls) {
      const TraceEvent& e = trace.events[place.first];
      const std::string& kernel = trace.names.text_of(call.kernel);
      const auto op = costed_op(trace.names.text_of(e.name), trace.op_shapes[e.shape], kernel);
      if (!op) {
        ++shapeless;
        continue;
      }
      if (call.is_disturbed) {
        ++disturbed;
        continue;
      }
      const std::string key = kernel_key(*op);
      auto [at, is_new] = by_key.try_emplace(key);
      if (is_new) at->second.key = key, at->second.op = *op, at->second.kernel = kernel;
      at->second.seconds.push_back(call.seconds);
    }
    anomalies.add("operator_without_cost", Severity::info,
                  "products, convolutions or attention whose recorded arguments do not give a "
                  "shape (variable lengths, no concrete inputs) are left out of the costs",
                  trace.file, shapeless);
    anomalies.add("kernel_beside_communication", Severity::info,
                  "kernels that ran while a collective was on the GPU measure contention and are "
                  "left out of the costs",
                  trace.file, disturbed);
  }
  std::vector<KernelSample> samples;
  for (auto& [key, sample] : by_key) samples.push_back(std::move(sample));
  const auto total = [](const KernelSample& s) {
    return mean(s.seconds) * static_cast<double>(s.seconds.size());
  };
  std::stable_sort(samples.begin(), samples.end(),
                   [&](const auto& a, const auto& b) { return total(a) > total(b); });
  return samples;
}

std::vector<CollectiveCurve> collective_curves(std::span<const RankTrace> traces) {
  std::map<std::pair<int, int>, std::map<std::int64_t, double>>
      least;  // (collective, ranks) -> size -> seconds
  for (const RankTrace& trace : traces)
    if (!trace.host.empty() && trace.host != traces.front().host)
      return {};  // several nodes: not a curve of one
  Anomalies ignored;
  for (const MatchedCollective& m : match_collectives(traces, ignored)) {
    if (!m.is_complete || !m.collective || m.bytes <= 0 || m.transfer.value <= 0) continue;
    auto& sizes = least[{static_cast<int>(*m.collective), static_cast<int>(m.members.size())}];
    const auto [at, is_new] = sizes.emplace(m.bytes, m.transfer.value);
    if (!is_new) at->second = std::min(at->second, m.transfer.value);
  }
  std::vector<CollectiveCurve> curves;
  for (const auto& [key, sizes] : least) {
    if (sizes.size() < 2) continue;  // one size is no curve
    CollectiveCurve curve{
        static_cast<Collective>(key.first), key.second, {}, "least transfer in imported traces"};
    for (const auto& [size, seconds] : sizes)
      curve.points.emplace_back(Bytes(size), Seconds(seconds));
    curves.push_back(std::move(curve));
  }
  return curves;
}

double host_seconds_per_launch(std::span<const RankTrace> traces) {
  constexpr std::int64_t kPause =
      200'000;  // longer ones are data loading, Python or a wait, not issue
  std::vector<double> gaps;
  for (const RankTrace& trace : traces) {
    std::map<std::uint32_t, Nanoseconds> last;
    for (const TraceEvent& e : trace.events) {
      if (e.kind != EventKind::launch) continue;
      const auto [at, is_new] = last.emplace(e.track, e.start);
      if (!is_new && e.start - at->second < kPause)
        gaps.push_back(seconds_from_ns(e.start - at->second).value);
      at->second = e.start;
    }
  }
  return gaps.empty() ? 0 : median(gaps);
}
}  // namespace stepcast
