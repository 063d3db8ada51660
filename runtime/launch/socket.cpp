#include "runtime/launch/socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/launch/tcp_store.hpp"
#include "sim/core/assert.hpp"
#include "sim/io/whole_transfer.hpp"

namespace stepcast::runtime {
namespace {
bool send_all(int descriptor, const void* data, std::size_t bytes) {
  return transfer_whole(static_cast<const char*>(data), bytes,
                        [descriptor](const char* at, std::size_t left) {
                          return ::send(descriptor, at, left, MSG_NOSIGNAL);
                        });
}
bool receive_all(int descriptor, void* data, std::size_t bytes) {
  return transfer_whole(static_cast<char*>(data), bytes, [descriptor](char* at, std::size_t left) {
    return ::recv(descriptor, at, left, 0);
  });
}
}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
std::string Socket::local_address() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  char text[INET_ADDRSTRLEN] = "";
  if (::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length) == 0)
    ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}
void Socket::shut_down() const {
  if (descriptor_ >= 0) ::shutdown(descriptor_, SHUT_RDWR);
}

bool Socket::send(const std::string& message) const {
  const std::uint32_t length = htonl(static_cast<std::uint32_t>(message.size()));
  return send_all(descriptor_, &length, sizeof length) &&
         send_all(descriptor_, message.data(), message.size());
}
std::optional<std::string> Socket::receive(Seconds limit, bool* is_late) const {
  if (is_late != nullptr) *is_late = false;
  if (limit.value > 0) {
    pollfd waiting{descriptor_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(limit.value * 1e3));
    if (ready == 0) {
      if (is_late != nullptr) *is_late = true;
      return std::nullopt;
    }
  }
  std::uint32_t length = 0;
  if (!receive_all(descriptor_, &length, sizeof length)) return std::nullopt;
  length = ntohl(length);
  if (length > kLongestMessage) return std::nullopt;
  std::string message(length, '\0');
  if (!receive_all(descriptor_, message.data(), length)) return std::nullopt;
  return message;
}

Socket Socket::listen(int port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(socket.descriptor_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(socket.descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.descriptor_, 1024) != 0)
    throw EnvironmentError(fmt::format(
        "port {} cannot be served: {}; set MASTER_PORT to a free one", port, std::strerror(errno)));
  return socket;
}
std::optional<Socket> Socket::accept() const {
  const int descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const int yes = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return Socket(descriptor);
}

Socket Socket::connect(const std::string& address, int port, Seconds limit) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(limit.value);
  std::string reason;
  for (;;) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    const int resolved =
        ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (resolved == 0) {
      Socket socket(::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0));
      const bool is_connected =
          ::connect(socket.descriptor_, found->ai_addr, found->ai_addrlen) == 0;
      reason = std::strerror(errno);
      ::freeaddrinfo(found);
      if (is_connected) {
        const int yes = 1;
        ::setsockopt(socket.descriptor_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        return socket;
      }
    } else {
      reason = ::gai_strerror(resolved);
    }
    if (std::chrono::steady_clock::now() > deadline)
      throw EnvironmentError(fmt::format("rank 0 does not answer at {}:{} within {:.0f} s: {}",
                                         address, port, limit.value, reason));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

int free_port() {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw EnvironmentError(
        fmt::format("no free TCP port on this machine: {}", std::strerror(errno)));
  return ntohs(address.sin_port);
}
}  // namespace stepcast::runtime
