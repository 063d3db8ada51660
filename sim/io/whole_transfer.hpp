#pragma once
#include <sys/types.h>

#include <cerrno>
#include <cstddef>

namespace stepcast {
/// Pipes and sockets take and give a part at a time: `once(at, bytes)` (write, read, send, recv) is
/// called until all bytes are through. false on an error and at the end of the stream; a signal in
/// between is neither.
template <typename Byte, typename Once>
bool transfer_whole(Byte* at, std::size_t bytes, Once once) {
  while (bytes > 0) {
    const ssize_t moved = once(at, bytes);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    at += moved;
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}
}  // namespace stepcast
