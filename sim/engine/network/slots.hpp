#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/network.hpp"

namespace stepcast {
/// Values in reused slots behind handles that go stale when a slot is freed: slot + 1 in the low
/// half, version above.
template <class T>
class Slots {
 public:
  struct Slot {
    T value{};
    std::uint32_t version = 0;
    bool is_live = false;
  };

  std::uint32_t insert(T value) {
    std::uint32_t index;
    if (free_.empty()) {
      index = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    slots_[index].value = std::move(value);
    slots_[index].is_live = true;
    return index;
  }
  T take(std::uint32_t index) {
    Slot& slot = slots_[index];
    slot.is_live = false;
    ++slot.version;
    free_.push_back(index);
    return std::exchange(slot.value, T{});
  }
  T& operator[](std::uint32_t index) { return slots_[index].value; }
  const T& operator[](std::uint32_t index) const { return slots_[index].value; }
  std::uint32_t version(std::uint32_t index) const { return slots_[index].version; }
  bool is_live(std::uint32_t index) const { return slots_[index].is_live; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::size_t live() const { return slots_.size() - free_.size(); }

  Network::Handle handle_of(std::uint32_t index) const {
    return (static_cast<Network::Handle>(slots_[index].version) << 32) | (index + 1);
  }
  /// Slot of a handle that is still good, else -1.
  std::int64_t find(Network::Handle handle) const {
    const auto index = static_cast<std::uint32_t>(handle) - 1;
    if (index >= slots_.size() || !slots_[index].is_live || slots_[index].version != handle >> 32)
      return -1;
    return index;
  }

 private:
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};
}  // namespace stepcast
