#include "sim/engine/network/simgrid_platform.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <string>

#include "sim/core/assert.hpp"

namespace stepcast {
namespace sg = simgrid;

/// A zone whose routes are whatever the flow about to start asked for.
class VirtualRouteZone final : public sg::kernel::routing::NetZoneImpl {
 public:
  explicit VirtualRouteZone(const std::string& name) : NetZoneImpl(name) {}
  void get_local_route(const sg::kernel::routing::NetPoint*, const sg::kernel::routing::NetPoint*,
                       sg::kernel::routing::Route* into, double*) override {
    into->link_list_ = route;
  }
  void get_graph(const s_xbt_graph_t*, std::map<std::string, xbt_node_t, std::less<>>*,
                 std::map<std::string, xbt_edge_t, std::less<>>*) override {}
  std::vector<sg::kernel::resource::StandardLinkImpl*> route;
};

namespace {
bool platform_was_used = false;
bool platform_exists = false;

// SimGrid 4 renamed the calls that create hosts and links.
sg::s4u::Host* new_host(sg::s4u::NetZone& zone, const std::string& name) {
#if SIMGRID_VERSION >= 40000
  return zone.add_host(name, 1.0);
#else
  return zone.create_host(name, 1.0);
#endif
}
sg::s4u::Link* new_link(sg::s4u::NetZone& zone, const std::string& name, double bandwidth) {
#if SIMGRID_VERSION >= 40000
  return zone.add_link(name, bandwidth);
#else
  return zone.create_link(name, bandwidth);
#endif
}

// A flow's own bound is the smallest nominal bandwidth of its route, frozen when it starts. Far
// above any capacity (1e12 B/s in payload units of 2^-20 B is 1e18), it never binds and the
// capacity callback alone decides, up and down.
constexpr double kNominalBandwidth = 1e24;

// SimGrid marks changed links recursively, about 100 B of stack per link in a chain: 8 MiB end near
// 80 thousand. The main thread's stack grows on demand up to the soft limit of that moment.
void raise_stack_limit() {
  constexpr rlim_t kWanted = rlim_t{256} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur >= kWanted)
    return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? kWanted : std::min(kWanted, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
}

// Options can be set before the first platform of a process only; they stay for the later ones.
//   CM02                 plain max-min sharing, no correction factors
//   crosstraffic 0       a flow does not load the way back (no acknowledgements in RoCE and
//   InfiniBand worth counting) TCP-gamma 1e30       no TCP window precision            1 ns by
//   default: too coarse to compare microsecond events to 1e-9
void configure() {
  const auto set_either = [](const char* old_name, const char* new_name, double value) {
    try {
      sg::s4u::Engine::set_config(old_name, value);
    } catch (const std::exception&) {
      sg::s4u::Engine::set_config(new_name, value);
    }
  };
  sg::s4u::Engine::set_config("network/model", std::string("CM02"));
  sg::s4u::Engine::set_config("network/crosstraffic", false);
  sg::s4u::Engine::set_config("network/TCP-gamma", 1e30);
  set_either("surf/precision", "precision/timing", 1e-14);
  set_either("maxmin/precision", "precision/work-amount", 1e-12);
}

// SimGrid takes over SIGINT and SIGSEGV; the process keeps its own handlers.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &saved_[i]);
  }
  ~KeepSignalHandlers() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &saved_[i], nullptr);
  }
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;

 private:
  static constexpr std::array<int, 4> kSignals{SIGINT, SIGSEGV, SIGUSR1, SIGUSR2};
  std::array<struct sigaction, 4> saved_{};
};
}  // namespace

bool SimGridPlatform::was_used() { return platform_was_used; }

SimGridPlatform::SimGridPlatform() {
  STEPCAST_ASSERT(!platform_exists, "SimGrid holds one engine per process at a time");
  const KeepSignalHandlers keep;
  std::string program = "stepcast", quiet = "--log=root.thresh:error";
  std::array<char*, 3> arguments{program.data(), quiet.data(), nullptr};
  int count = 2;
  engine_ = std::make_unique<sg::s4u::Engine>(&count, arguments.data());
  if (!platform_was_used) {
    configure();
    raise_stack_limit();
  }
  platform_exists = platform_was_used = true;
  zone_ = new VirtualRouteZone("stepcast");
  // SimGrid 4 makes a root zone by itself; before, the first zone is the root.
  if (sg::s4u::NetZone* root = engine_->get_netzone_root();
      root != nullptr && root != zone_->get_iface())
    zone_->get_iface()->set_parent(root);
  source_ = new_host(*zone_->get_iface(), "source");
  sink_ = new_host(*zone_->get_iface(), "sink");
}

SimGridPlatform::~SimGridPlatform() { platform_exists = false; }

void SimGridPlatform::add_link(const double* capacity) {
  STEPCAST_ASSERT(!is_sealed_, "links are made before the simulation runs");
  sg::s4u::Link* link =
      new_link(*zone_->get_iface(), std::to_string(links_.size()), kNominalBandwidth);
  link->set_latency(
      0.0);  // SimGrid shares in inverse proportion to latency; the executor pays latency by timers
  link->set_sharing_policy(sg::s4u::Link::SharingPolicy::NONLINEAR,
                           [capacity](double, int) { return *capacity; });
  links_.push_back(link);
}

void SimGridPlatform::touch(LinkId link) { links_[link]->set_bandwidth(kNominalBandwidth); }

sg::s4u::CommPtr SimGridPlatform::start(std::span<const LinkId> route, std::uint64_t payload,
                                        void* data) {
  zone_->route.clear();
  for (const LinkId link : route) zone_->route.push_back(links_[link]->get_impl());
  sg::s4u::CommPtr comm = sg::s4u::Comm::sendto_init();
  comm->set_data(data);
  comm->set_payload_size(payload);
  comm->set_source(source_);
  comm->set_destination(sink_);  // with both ends known it starts
  return comm;
}

void SimGridPlatform::run() {
  if (!is_sealed_) {
    // Sealing the platform works once per process, sealing a zone always.
    for (sg::s4u::Link* link : links_) link->seal();
    zone_->get_iface()->seal();
    engine_->seal_platform();
    is_sealed_ = true;
  }
  engine_->run();
}
}  // namespace stepcast
