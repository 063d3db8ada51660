#include "runtime/kernels/emulation.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "runtime/kernels/emulation_lookup.hpp"
#include "runtime/kernels/fiber.hpp"

namespace stepcast::emulation {
thread_local Place place{};

namespace {
constexpr unsigned kWarp = 32;
constexpr std::size_t kLargestShared =
    227 * 1024;  // sm_90: largest opt-in size of a block (CUDA programming guide, table 'Technical
                 // specifications')

struct Lane {
  Fiber fiber;
  uint3 thread{};
  bool is_done = false, is_waiting = false;
  unsigned mask = 0;        // of the warp rendezvous it waits in; 0: the block's barrier
  std::uint64_t round = 0;  // rendezvous of its warp passed so far, for double buffering of slots
};

/// One block in flight. The scheduler runs on the caller's stack, kernels on the fibers'.
class Block {
 public:
  void run(dim3 grid, uint3 index, dim3 size, const char* kernel,
           const std::function<void()>& body);
  void wait(unsigned mask);
  std::uint64_t exchange(unsigned mask, std::uint64_t value, int lane);
  unsigned ballot(unsigned mask, bool vote);
  int count(bool vote);

  Schedule schedule = Schedule::in_order;
  std::uint64_t random = 1;
  std::vector<unsigned char> shared;

 private:
  std::size_t next_ready();
  void release_ready();
  [[noreturn]] void report_deadlock(const char* kernel) const;

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t count_ = 0, current_ = 0, left_ = 0;
  std::vector<std::size_t> ready_;
  std::vector<std::array<std::array<std::uint64_t, kWarp>, 2>> slots_;
  int votes_[2] = {};
  std::uint64_t block_round_ = 0;
};
thread_local Block block_in_flight;

std::uint64_t next_random(std::uint64_t& state) {  // xorshift64, Marsaglia 2003
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

std::size_t Block::next_ready() {
  std::size_t chosen = 0;
  if (schedule == Schedule::shuffled) chosen = next_random(random) % ready_.size();
  if (schedule == Schedule::adversarial)  // the highest thread of the highest warp, until that warp
                                          // can go no further
    chosen =
        static_cast<std::size_t>(std::max_element(ready_.begin(), ready_.end()) - ready_.begin());
  const std::size_t lane = ready_[chosen];
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(chosen));
  return lane;
}

/// Frees every rendezvous that is complete: a warp's when all lanes of its mask wait with that
/// mask, the block's when all threads do.
void Block::release_ready() {
  std::size_t at_barrier = 0;
  for (std::size_t warp = 0; warp * kWarp < count_; ++warp) {
    const std::size_t begin = warp * kWarp, end = std::min<std::size_t>(begin + kWarp, count_);
    for (std::size_t i = begin; i < end; ++i) {
      Lane& lane = *lanes_[i];
      if (!lane.is_waiting) continue;
      if (lane.mask == 0) {
        ++at_barrier;
        continue;
      }
      bool is_complete = true;
      for (std::size_t j = begin; j < begin + kWarp; ++j) {
        if ((lane.mask >> (j - begin) & 1u) == 0) continue;
        if (j >= end) continue;  // lanes beyond a short last warp do not exist
        is_complete = is_complete && lanes_[j]->is_waiting && lanes_[j]->mask == lane.mask;
      }
      if (!is_complete) continue;
      const unsigned mask = lane.mask;
      for (std::size_t j = begin; j < end; ++j)
        if ((mask >> (j - begin) & 1u) != 0) {
          lanes_[j]->is_waiting = false;
          ready_.push_back(j);
        }
    }
  }
  if (at_barrier == count_) {
    ++block_round_;
    votes_[block_round_ & 1] = 0;  // last read two barriers ago
    for (std::size_t i = 0; i < count_; ++i) {
      lanes_[i]->is_waiting = false;
      ready_.push_back(i);
    }
  }
}

void Block::report_deadlock(const char* kernel) const {
  std::string text = std::string("kernel ") + kernel +
                     ": threads wait for others that never come (divergent barrier or mask):";
  int named = 0;
  for (std::size_t i = 0; i < count_ && named < 4; ++i)
    if (lanes_[i]->is_waiting) {
      text += " thread " + std::to_string(i) +
              (lanes_[i]->mask == 0 ? " at a block barrier" : " at a warp rendezvous");
      ++named;
    }
  throw std::runtime_error(text);
}

void Block::run(dim3 grid, uint3 index, dim3 size, const char* kernel,
                const std::function<void()>& body) {
  count_ = static_cast<std::size_t>(size.x) * size.y * size.z;
  while (lanes_.size() < count_) lanes_.push_back(std::make_unique<Lane>());
  slots_.assign((count_ + kWarp - 1) / kWarp, {});
  ready_.clear();
  left_ = count_;
  block_round_ = 0;
  votes_[0] = votes_[1] = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    Lane& lane = *lanes_[i];
    lane.thread = {static_cast<unsigned>(i % size.x), static_cast<unsigned>(i / size.x % size.y),
                   static_cast<unsigned>(i / size.x / size.y)};
    lane.is_done = lane.is_waiting = false;
    lane.round = 0;
    lane.fiber.start(body);
    ready_.push_back(i);
  }
  while (left_ > 0) {
    if (ready_.empty()) release_ready();
    if (ready_.empty()) report_deadlock(kernel);
    current_ = next_ready();
    Lane& lane = *lanes_[current_];
    place = {lane.thread, index, size, grid};
    lane.fiber.resume();
    if (lane.fiber.is_done()) {
      lane.is_done = true;
      --left_;
    } else if (!lane.is_waiting) {
      ready_.push_back(current_);
    } else if (schedule == Schedule::adversarial && lane.mask != 0) {
      release_ready();  // its warp may go on while others have not begun
    }
  }
}
void Block::wait(unsigned mask) {
  Lane& lane = *lanes_[current_];
  lane.is_waiting = true;
  lane.mask = mask;
  lane.fiber.yield();
}
std::uint64_t Block::exchange(unsigned mask, std::uint64_t value, int from) {
  Lane& lane = *lanes_[current_];
  const std::size_t warp = current_ / kWarp, self = current_ % kWarp;
  // Two slots per lane: whoever is a round ahead writes the other one, and nobody can be two ahead.
  const std::uint64_t round = lane.round++ & 1;
  slots_[warp][round][self] = value;
  wait(mask);
  return slots_[warp][round][static_cast<std::size_t>(from) & (kWarp - 1)];
}
unsigned Block::ballot(unsigned mask, bool vote) {
  const std::size_t warp = current_ / kWarp,
                    lanes = std::min<std::size_t>(kWarp, count_ - warp * kWarp);
  const std::uint64_t round = lanes_[current_]->round & 1;
  exchange(mask, vote ? 1 : 0, 0);
  unsigned result = 0;
  for (unsigned i = 0; i < lanes; ++i)
    if ((mask >> i & 1u) != 0 && slots_[warp][round][i] != 0) result |= 1u << i;
  return result;
}
int Block::count(bool vote) {
  const std::uint64_t round = block_round_ & 1;
  votes_[round] += vote ? 1 : 0;
  wait(0);
  return votes_[round];
}

std::map<const void*, Invoke>& kernels() {
  static std::map<const void*, Invoke> list;
  return list;
}
std::mutex& kernels_mutex() {
  static std::mutex mutex;
  return mutex;
}
}  // namespace

void set_schedule(Schedule schedule, std::uint64_t seed) {
  block_in_flight.schedule = schedule;
  block_in_flight.random = seed * 0x9e3779b97f4a7c15ull + 1;
}
void run_grid(dim3 grid, dim3 block, std::size_t shared, const char* kernel,
              const std::function<void()>& body) {
  const std::size_t threads = static_cast<std::size_t>(block.x) * block.y * block.z;
  if (threads == 0 || threads > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.y > 65535 || grid.z > 65535 || shared > kLargestShared)
    throw std::runtime_error(std::string("kernel ") + kernel + ": launch shape that no GPU takes");
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        // Exactly as large as asked, so that a sanitizer sees an overrun; poisoned (a NaN as
        // float), so that a read before a write shows.
        block_in_flight.shared.clear();
        block_in_flight.shared.shrink_to_fit();
        block_in_flight.shared.assign(shared, 0xff);
        block_in_flight.run(grid, {x, y, z}, block, kernel, body);
      }
}
void* dynamic_shared() { return block_in_flight.shared.data(); }
void rendezvous(Scope scope, unsigned mask) {
  block_in_flight.wait(scope == Scope::block ? 0 : mask);
}
std::uint64_t exchange(unsigned mask, std::uint64_t value, int lane) {
  return block_in_flight.exchange(mask, value, lane);
}
unsigned ballot(unsigned mask, bool vote) { return block_in_flight.ballot(mask, vote); }
int count_block(bool vote) { return block_in_flight.count(vote); }

bool add_kernel(const void* address, Invoke invoke) {
  const std::lock_guard lock(kernels_mutex());
  kernels()[address] = invoke;
  return true;
}
Invoke find_kernel(const std::string& mangled) {
  const std::lock_guard lock(kernels_mutex());
  for (const auto& [address, invoke] : kernels()) {
    Dl_info info{};
    if (dladdr(address, &info) != 0 && info.dli_sname != nullptr && mangled == info.dli_sname)
      return invoke;
  }
  return nullptr;
}
void use_adversarial_schedule(unsigned seed) { set_schedule(Schedule::adversarial, seed); }
std::function<void()> bind_kernel(const std::string& mangled, const unsigned (&shape)[6],
                                  std::size_t shared, void** arguments) {
  const Invoke invoke = find_kernel(mangled);
  if (invoke == nullptr) return {};
  return invoke(dim3(shape[0], shape[1], shape[2]), dim3(shape[3], shape[4], shape[5]), shared,
                arguments);
}
}  // namespace stepcast::emulation
