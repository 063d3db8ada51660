#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace stepcast {
/// Binary heap of dated entries, earliest first; equal dates in the order of their sequence
/// numbers. Entries are not removed but go stale: an owner bumps its version and `purge` drops what
/// no longer matches.
class EventHeap {
 public:
  struct Entry {
    double date;
    std::uint64_t sequence;
    std::uint32_t owner, version;
    friend bool operator>(const Entry& a, const Entry& b) {
      return a.date != b.date ? a.date > b.date : a.sequence > b.sequence;
    }
  };
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  void clear() { entries_.clear(); }
  const Entry& top() const { return entries_.front(); }
  void push(const Entry& entry) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), std::greater<>{});
  }
  Entry pop() {
    std::pop_heap(entries_.begin(), entries_.end(), std::greater<>{});
    const Entry entry = entries_.back();
    entries_.pop_back();
    return entry;
  }
  /// Keeps only entries for which is_current(entry) holds.
  template <class IsCurrent>
  void purge(IsCurrent is_current) {
    std::erase_if(entries_, [&](const Entry& entry) { return !is_current(entry); });
    std::make_heap(entries_.begin(), entries_.end(), std::greater<>{});
  }

 private:
  std::vector<Entry> entries_;
};
}  // namespace stepcast
