#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "sim/cluster/topology.hpp"
#include "sim/core/enum_text.hpp"

namespace stepcast {
enum class EngineKind { simgrid, native, analytic };
template <>
struct EnumText<EngineKind> {
  static constexpr std::array<std::pair<EngineKind, std::string_view>, 3> table{
      {{EngineKind::simgrid, "simgrid"},
       {EngineKind::native, "native"},
       {EngineKind::analytic, "analytic"}}};
};

/// Clock, timers and flows that share links max-min fairly: all that the step executor sees of an
/// engine. Times are seconds since construction. Simultaneous events run in the order in which they
/// were asked for.
class Network {
 public:
  using Callback = std::function<void()>;
  using Handle = std::uint64_t;  // of a flow or timer; 0 is never one
  virtual ~Network() = default;
  virtual LinkId link(const std::string& name, double bytes_per_second) = 0;
  /// Takes effect at once for flows under way, up or down.
  virtual void set_capacity(LinkId link, double bytes_per_second) = 0;
  /// A flow of `bytes` > 0 over `links` (may be empty: completes at once, by callback, in the
  /// current instant).
  virtual Handle start_flow(std::span<const LinkId> links, double bytes, Callback done) = 0;
  virtual void cancel_flow(Handle flow) = 0;  // its callback never runs
  virtual Handle after(double delay, Callback then) = 0;
  virtual void cancel_timer(Handle timer) = 0;
  virtual double now() const = 0;
  virtual void run() = 0;  // until nothing is pending; exceptions of callbacks come out here
  virtual std::uint64_t events() const = 0;
  /// Bytes carried by a link so far (completed and cancelled parts included).
  virtual double bytes_carried(LinkId link) const = 0;
};
std::unique_ptr<Network> make_network(EngineKind kind);
}  // namespace stepcast
