#pragma once
#include <optional>
#include <string>

#include "sim/core/units.hpp"

namespace stepcast::runtime {
/// An owned TCP connection that carries length-prefixed messages.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  /// Bytes; a longer one is refused by whoever receives it, as a broken connection.
  static constexpr std::size_t kLongestMessage = std::size_t{64} << 20;
  /// false when the peer is gone.
  bool send(const std::string& message) const;
  /// nullopt when the peer is gone, or nothing came within the limit (`is_late` then true). A limit
  /// of 0 waits for ever.
  std::optional<std::string> receive(Seconds limit, bool* is_late = nullptr) const;
  /// The address of this end.
  std::string local_address() const;
  /// Wakes whoever receives; it then sees the peer gone.
  void shut_down() const;

  /// Listens on all addresses of the port; throws EnvironmentError when it is taken.
  static Socket listen(int port);
  std::optional<Socket> accept() const;
  /// Tries until the limit; throws EnvironmentError.
  static Socket connect(const std::string& address, int port, Seconds limit);

 private:
  int descriptor_ = -1;
};
}  // namespace stepcast::runtime
