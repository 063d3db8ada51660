#pragma once
#include <cstdint>
#include <vector>

#include "sim/engine/job.hpp"

namespace stepcast {
/// Messages between send and receive, found by channel and tag. Slots are reused; a channel holds
/// few at a time.
class MessageBox {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Message {
    std::uint32_t channel = 0, tag = 0;
    std::uint32_t pending = 0;  // flows and timers until it has arrived
    bool is_sent = false, is_on_wire = false, has_arrived = false, is_awaited = false;
    std::uint8_t send_lane = 0, recv_lane = 0;
    double sent = 0;
  };

  explicit MessageBox(const Job& job);
  std::uint32_t outgoing(std::uint32_t worker,
                         int stage) const;  // channel; throws when there is none
  std::uint32_t incoming(std::uint32_t worker, int stage) const;
  /// The open message, made when there is none.
  std::uint32_t open(std::uint32_t channel, std::uint32_t tag);
  /// The open message or kNone.
  std::uint32_t find(std::uint32_t channel, std::uint32_t tag) const;
  void close(std::uint32_t message);
  Message& operator[](std::uint32_t message) { return messages_[message]; }
  const Message& operator[](std::uint32_t message) const { return messages_[message]; }

 private:
  const Job& job_;
  std::vector<std::uint32_t> first_outgoing_;  // by worker, into job.channels
  std::vector<std::uint32_t> first_incoming_,
      by_receiver_;  // by worker, into by_receiver_: channels
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_;
  std::vector<std::vector<std::uint32_t>> open_;  // by channel
};
}  // namespace stepcast
