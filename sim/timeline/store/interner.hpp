#pragma once
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast::trace {
/// Texts to dense ids, fast enough to be asked twice an event. Open addressing, power-of-two table,
/// at most half full.
class Interner {
 public:
  Interner() : slots_(1024) {}
  std::uint32_t id_of(std::string_view text) {
    const std::uint32_t hash = hash_of(text);
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.id_plus_one == 0) {
        texts_.emplace_back(text);
        slot = {hash, static_cast<std::uint32_t>(texts_.size())};
        const auto id = static_cast<std::uint32_t>(texts_.size() - 1);
        if (texts_.size() * 2 > slots_.size()) grow();
        return id;
      }
      if (slot.hash == hash && texts_[slot.id_plus_one - 1] == text) return slot.id_plus_one - 1;
    }
  }
  const std::string& text_of(std::uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  __extension__ using Wide = unsigned __int128;
  struct Slot {
    std::uint32_t hash = 0, id_plus_one = 0;
  };
  /// Eight bytes at a time, multiply and fold (the mixing step of wyhash, public domain); the
  /// length is part of it.
  static std::uint32_t hash_of(std::string_view text) {
    std::uint64_t state = 0x9E3779B97F4A7C15ULL ^ text.size();
    const char* at = text.data();
    std::size_t left = text.size();
    const auto fold = [&](std::uint64_t word) {
      const auto product = static_cast<Wide>(state ^ word) * 0xA0761D6478BD642FULL;
      state = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    for (; left >= 8; at += 8, left -= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      fold(word);
    }
    std::uint64_t word = 0;
    if (left > 0) std::memcpy(&word, at, left);
    fold(word);
    return static_cast<std::uint32_t>(state ^ (state >> 32));
  }
  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (const Slot& slot : slots_) {
      if (slot.id_plus_one == 0) continue;
      std::size_t at = slot.hash & (larger.size() - 1);
      while (larger[at].id_plus_one != 0) at = (at + 1) & (larger.size() - 1);
      larger[at] = slot;
    }
    slots_ = std::move(larger);
  }
  std::deque<std::string> texts_;
  std::vector<Slot> slots_;
};
}  // namespace stepcast::trace
