#pragma once
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/network.hpp"
#include "sim/import/replay/workload_file.hpp"

/// Runs a workload again: who waits for whom is worked out anew, so a changed duration moves
/// everything behind it.
///   start = max(lane free, dependencies done) + delay;   a collective or message ends `transfer`
///   after its last member arrived.
namespace stepcast {

/// Carries a collective or message over a network in place of its recorded transfer time. Calls
/// `done` when the last byte is there.
class Transport {
 public:
  virtual ~Transport() = default;
  /// False: this one keeps its recorded time (its bytes are unknown, say).
  virtual bool carry(const Workload& workload, const WorkOp& op, int rank, Network& network,
                     std::function<void()> done) = 0;
};

/// Who owns a moment of a rank's step, the first that applies: compute runs; a copy runs; bytes of
/// a collective or message move; it waits in one for a late rank; the host works; none of these.
/// They sum to the rank's step, so no millisecond is claimed twice.
enum class Owner : std::uint8_t { compute, copy, transfer, waiting, host, idle };
inline constexpr std::size_t kOwners = 6;
using Owned = std::array<double, kOwners>;  // seconds

struct ReplayOptions {
  bool keep_delays =
      true;  // false: launch gaps and everything else that is not explained take no time
  Transport* transport = nullptr;  // null: recorded transfer times
  bool record_timeline = false;
  bool account = true;  // fill RankStep::owned
};
struct ReplayResult {
  std::vector<double> step_s;  // by workload step
  double total_s = 0;
  /// Of each rank: seconds of compute, own transfer and waiting in collectives and receives, by
  /// step, overlapped or not; `owned` sums to window_s, the rank's own step (its period, or the
  /// job's span).
  struct RankStep {
    double compute_s = 0, transfer_s = 0, wait_s = 0, end_s = 0, window_s = 0;
    Owned owned{};
  };
  std::vector<std::vector<RankStep>> ranks;  // [rank index][step]
  /// Who came last to each meeting of several ranks, as (rank index, op index) of every member in
  /// order of arrival.
  using Member = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<std::vector<Member>> meetings;
  std::vector<std::vector<double>> start_s;  // [rank index][op]
  double arrival_s(const Member& member) const { return start_s[member.first][member.second]; }
  std::uint64_t events = 0;
  std::optional<Timeline> timeline;
};
/// Throws InputError naming two waiting ranks and ops when nothing can move (a collective that a
/// recorded member never joins).
ReplayResult replay(const Workload& workload, const ReplayOptions& options = {});

/// Lets go of meetings that no order of events can satisfy: recordings of different moments, or
/// collectives that two streams started in different orders. Their members then take their own
/// times. Returns how many meetings were dissolved.
int dissolve_impossible_meetings(Workload& workload);
}  // namespace stepcast

template <>
struct stepcast::EnumText<stepcast::Owner> {
  using O = stepcast::Owner;
  static constexpr std::array<std::pair<O, std::string_view>, stepcast::kOwners> table{
      {{O::compute, "compute"},
       {O::copy, "copies"},
       {O::transfer, "transfer"},
       {O::waiting, "waiting"},
       {O::host, "host"},
       {O::idle, "idle"}}};
};
