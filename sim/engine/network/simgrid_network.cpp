#include "sim/engine/network/simgrid_network.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <vector>

#include "sim/core/assert.hpp"
#include "sim/engine/network/simgrid_platform.hpp"
#include "sim/engine/network/timers.hpp"

namespace stepcast {
namespace {
namespace s4u = simgrid::s4u;

// SimGrid's payload is a whole number. In units of 2^-20 byte a rounded payload is off by 5e-7
// byte, 1e-17 s at 50 GB/s.
constexpr double kUnitsPerByte = 1048576.0;
// A flow of more (4 TB) runs as several payloads one after another: the count must stay below 2^63.
constexpr double kLargestPayload = 4.0e18;
constexpr Network::Handle kTimerBit = Network::Handle{1} << 63;

class SimGridNetwork;
SimGridNetwork* current_network = nullptr;

class SimGridNetwork final : public Network {
 public:
  SimGridNetwork() : offset_(s4u::Engine::get_clock()) {
    current_network = this;
    connect_once();
  }
  ~SimGridNetwork() override {
    current_network = nullptr;
    if (armed_ != nullptr) armed_->remove();
    for (std::uint32_t slot = 0; slot < flows_.size(); ++slot)
      if (flows_.is_live(slot)) stop(flows_[slot]);
  }

  LinkId link(const std::string&, double bytes_per_second) override {
    capacity_.push_back(bytes_per_second * kUnitsPerByte);
    carried_.push_back(0);
    platform_.add_link(&capacity_.back());
    return static_cast<LinkId>(capacity_.size() - 1);
  }
  void set_capacity(LinkId link, double bytes_per_second) override;
  Handle start_flow(std::span<const LinkId> links, double bytes, Callback done) override;
  void cancel_flow(Handle flow) override;
  Handle after(double delay, Callback then) override {
    STEPCAST_ASSERT(delay >= 0, "time runs forwards");
    const Handle handle = timers_.add(now() + delay, sequence_++, std::move(then));
    arm();
    return handle;
  }
  void cancel_timer(Handle timer) override { timers_.cancel(timer); }
  double now() const override { return s4u::Engine::get_clock() - offset_; }
  void run() override { platform_.run(); }
  std::uint64_t events() const override { return events_; }
  double bytes_carried(LinkId link) const override;

 private:
  struct Flow {
    std::vector<LinkId> route;
    double bytes = 0;
    double queued = 0;  // bytes that are not in the payload under way
    s4u::CommPtr comm;  // null while a link of the route is dead
    Callback done;
  };
  static void connect_once();
  void complete(std::uint32_t slot);
  void arm();
  void fire();
  void begin(std::uint32_t slot);
  void stop(Flow& flow);
  bool is_dead(LinkId link) const { return capacity_[link] <= 0; }
  double remaining(const Flow& flow) const {
    return flow.queued + (flow.comm ? flow.comm->get_remaining() / kUnitsPerByte : 0.0);
  }
  void count(const Flow& flow, double moved) {
    for (const LinkId link : flow.route) carried_[link] += moved;
  }

  SimGridPlatform platform_;
  double offset_;
  std::uint64_t sequence_ = 0, events_ = 0;
  std::deque<double> capacity_;  // units per second; a deque, for SimGrid keeps pointers
  std::vector<double> carried_;
  Slots<Flow> flows_;
  std::vector<s4u::CommPtr> parked_;  // SimGrid is still inside their completion
  Timers timers_;
  simgrid::kernel::timer::Timer* armed_ = nullptr;
};

// Signals outlive networks and engines, so their slots are connected once and find the network of
// the day.
void SimGridNetwork::connect_once() {
  static bool is_connected = false;
  if (is_connected) return;
  is_connected = true;
  s4u::Comm::on_completion_cb([](s4u::Activity const& activity) {
    const auto key = reinterpret_cast<std::uintptr_t>(activity.get_data<void>());
    if (current_network != nullptr && key != 0)
      current_network->complete(static_cast<std::uint32_t>(key - 1));
  });
  s4u::Engine::on_time_advance_cb([](double) {
    if (current_network != nullptr) current_network->parked_.clear();
  });
}

void SimGridNetwork::begin(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (std::any_of(flow.route.begin(), flow.route.end(),
                  [this](LinkId link) { return is_dead(link); }))
    return;
  const double units = std::min(flow.queued * kUnitsPerByte, kLargestPayload);
  flow.queued = std::max(0.0, flow.queued - units / kUnitsPerByte);
  // A payload of 0 would never start.
  const auto payload = static_cast<std::uint64_t>(std::max(1.0, std::round(units)));
  flow.comm =
      platform_.start(flow.route, payload, reinterpret_cast<void*>(std::uintptr_t{slot} + 1));
}

// Ends the payload under way without its completion being seen; what it had left counts as queued.
void SimGridNetwork::stop(Flow& flow) {
  if (!flow.comm) return;
  flow.queued = remaining(flow);
  flow.comm->set_data(nullptr);
  flow.comm->cancel();
  parked_.push_back(std::move(flow.comm));
  flow.comm = nullptr;
}

Network::Handle SimGridNetwork::start_flow(std::span<const LinkId> links, double bytes,
                                           Callback done) {
  STEPCAST_ASSERT(bytes > 0, "a flow has something to carry");
  if (links.empty()) return after(0, std::move(done)) | kTimerBit;
  const std::uint32_t slot =
      flows_.insert({{links.begin(), links.end()}, bytes, bytes, nullptr, std::move(done)});
  begin(slot);
  return flows_.handle_of(slot) & ~kTimerBit;
}

void SimGridNetwork::cancel_flow(Handle handle) {
  if ((handle & kTimerBit) != 0) return timers_.cancel(handle & ~kTimerBit);
  const auto slot = flows_.find(handle);
  if (slot < 0) return;
  Flow& flow = flows_[static_cast<std::uint32_t>(slot)];
  stop(flow);
  count(flow, flow.bytes - flow.queued);
  flows_.take(static_cast<std::uint32_t>(slot));
}

void SimGridNetwork::complete(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  parked_.push_back(std::move(flow.comm));
  flow.comm = nullptr;
  if (flow.queued > 0) return begin(slot);
  ++events_;
  count(flow, flow.bytes);
  const Callback done = flows_.take(slot).done;
  if (done) done();
}

void SimGridNetwork::set_capacity(LinkId link, double bytes_per_second) {
  const bool was_dead = is_dead(link);
  capacity_[link] = bytes_per_second * kUnitsPerByte;
  // SimGrid ignores links without capacity instead of blocking them: flows over them are taken out
  // until they are back.
  if (was_dead || is_dead(link)) {
    for (std::uint32_t slot = 0; slot < flows_.size(); ++slot) {
      if (!flows_.is_live(slot)) continue;
      Flow& flow = flows_[slot];
      if (std::find(flow.route.begin(), flow.route.end(), link) == flow.route.end()) continue;
      if (is_dead(link))
        stop(flow);
      else if (!flow.comm)
        begin(slot);
    }
  }
  platform_.touch(link);
}

// One kernel timer stands for the earliest of ours: SimGrid's own heap does not keep the order of
// equal dates.
void SimGridNetwork::arm() {
  const double date = timers_.next_date();
  if (armed_ != nullptr) {
    if (armed_->get_date() <= date + offset_) return;
    armed_->remove();
    armed_ = nullptr;
  }
  if (date != Timers::kNever)
    armed_ = simgrid::kernel::timer::Timer::set(date + offset_, [this] { fire(); });
}

void SimGridNetwork::fire() {
  armed_ = nullptr;
  while (timers_.next_date() + offset_ <= s4u::Engine::get_clock()) {
    ++events_;
    const Callback then = timers_.pop();
    if (then) then();
  }
  arm();
}

double SimGridNetwork::bytes_carried(LinkId link) const {
  double bytes = carried_[link];
  if (flows_.live() == 0) return bytes;
  for (std::uint32_t slot = 0; slot < flows_.size(); ++slot) {
    if (!flows_.is_live(slot)) continue;
    const Flow& flow = flows_[slot];
    const auto times = std::count(flow.route.begin(), flow.route.end(), link);
    if (times > 0) bytes += static_cast<double>(times) * (flow.bytes - remaining(flow));
  }
  return bytes;
}
}  // namespace

std::unique_ptr<Network> make_simgrid_network() { return std::make_unique<SimGridNetwork>(); }
bool simgrid_is_fresh() { return !SimGridPlatform::was_used(); }
}  // namespace stepcast
