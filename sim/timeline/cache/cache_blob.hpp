#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace stepcast::trace {
/// Small values one after another, in the machine's own byte order (a cache never leaves its
/// machine).
class BlobWriter {
 public:
  template <class T>
  void put(const T& value) requires std::is_trivially_copyable_v<T> {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  template <class T>
  void put_array(const std::vector<T>& values) requires std::is_trivially_copyable_v<T> {
    put(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads them back; anything out of bounds makes is_good() false and gives zeros from then on.
class BlobReader {
 public:
  explicit BlobReader(std::span<const char> bytes) : bytes_(bytes) {}
  template <class T>
  T get() requires std::is_trivially_copyable_v<T> {
    T value{};
    if (const char* from = take(sizeof value)) std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::string get_text() {
    const auto size = get<std::uint64_t>();
    const char* from = take(size);
    return from == nullptr ? std::string{} : std::string(from, size);
  }
  template <class T>
  std::vector<T> get_array() requires std::is_trivially_copyable_v<T> {
    const auto size = get<std::uint64_t>();
    std::vector<T> values;
    if (size > bytes_.size() / sizeof(T)) {
      is_good_ = false;
      return values;
    }
    if (const char* from = take(size * sizeof(T))) {
      values.resize(size);
      if (size > 0) std::memcpy(values.data(), from, size * sizeof(T));
    }
    return values;
  }
  /// How many entries follow; never more than bytes are left.
  std::size_t count() {
    const auto size = get<std::uint64_t>();
    if (size > bytes_.size()) {
      is_good_ = false;
      return 0;
    }
    return size;
  }
  bool is_good() const { return is_good_; }

 private:
  const char* take(std::uint64_t size) {
    if (!is_good_ || size > bytes_.size() - at_) {
      is_good_ = false;
      return nullptr;
    }
    at_ += size;
    return bytes_.data() + (at_ - size);
  }
  std::span<const char> bytes_;
  std::size_t at_ = 0;
  bool is_good_ = true;
};
}  // namespace stepcast::trace
