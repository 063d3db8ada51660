#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

/// Messages between a parameter server and its workers: this header, then float32 values. Both ends
/// run on machines of one byte order.
namespace stepcast::runtime {
struct ServerMessage {
  std::int32_t worker = 0;
  std::int32_t step = 0;     // of the gradient; -1: only reads. Answers: 1 = the run is over
  std::int64_t version = 0;  // of the parameters that were read
};
inline std::string pack(const ServerMessage& header, std::span<const float> values) {
  std::string message(sizeof header + values.size_bytes(), '\0');
  std::memcpy(message.data(), &header, sizeof header);
  if (!values.empty())
    std::memcpy(message.data() + sizeof header, values.data(), values.size_bytes());
  return message;
}
/// Requires: message.size() >= sizeof(ServerMessage).
inline ServerMessage header_of(const std::string& message) {
  ServerMessage header;
  std::memcpy(&header, message.data(), sizeof header);
  return header;
}
/// Of a header and `values`.
constexpr std::size_t message_bytes(std::size_t values) {
  return sizeof(ServerMessage) + values * sizeof(float);
}
}  // namespace stepcast::runtime
