#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace stepcast::trace {
/// An immutable array that lives in a vector or in a mapped cache file; copies share it.
template <class T>
class Column {
 public:
  Column() = default;
  explicit Column(std::vector<T> values) {
    auto owned = std::make_shared<const std::vector<T>>(std::move(values));
    view_ = *owned;
    owner_ = std::move(owned);
  }
  Column(std::span<const T> view, std::shared_ptr<const void> owner)
      : view_(view), owner_(std::move(owner)) {}
  const T& operator[](std::size_t i) const { return view_[i]; }
  const T* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  auto begin() const { return view_.begin(); }
  auto end() const { return view_.end(); }
  std::span<const T> span() const { return view_; }

 private:
  std::span<const T> view_;
  std::shared_ptr<const void> owner_;
};
}  // namespace stepcast::trace
