#include "sim/engine/executor/message_box.hpp"

#include <algorithm>
#include <string>

#include "sim/core/assert.hpp"

namespace stepcast {

MessageBox::MessageBox(const Job& job)
    : job_(job),
      first_outgoing_(job.workers.size() + 1),
      first_incoming_(job.workers.size() + 1),
      open_(job.channels.size()) {
  STEPCAST_ASSERT(std::is_sorted(job.channels.begin(), job.channels.end(),
                                 [](const Channel& a, const Channel& b) {
                                   return std::pair(a.from, a.to) < std::pair(b.from, b.to);
                                 }),
                  "lowering sorts channels by their ends");
  for (const Channel& channel : job.channels) {
    ++first_outgoing_[channel.from + 1];
    ++first_incoming_[channel.to + 1];
  }
  for (std::size_t worker = 0; worker < job.workers.size(); ++worker) {
    first_outgoing_[worker + 1] += first_outgoing_[worker];
    first_incoming_[worker + 1] += first_incoming_[worker];
  }
  by_receiver_.resize(job.channels.size());
  std::vector<std::uint32_t> next = first_incoming_;
  for (std::uint32_t channel = 0; channel < job.channels.size(); ++channel)
    by_receiver_[next[job.channels[channel].to]++] = channel;
}

std::uint32_t MessageBox::outgoing(std::uint32_t worker, int stage) const {
  for (std::uint32_t channel = first_outgoing_[worker]; channel < first_outgoing_[worker + 1];
       ++channel)
    if (job_.workers[job_.channels[channel].to].stage == stage) return channel;
  throw InternalError("worker " + std::to_string(worker) + " has no channel to stage " +
                      std::to_string(stage));
}

std::uint32_t MessageBox::incoming(std::uint32_t worker, int stage) const {
  for (std::uint32_t i = first_incoming_[worker]; i < first_incoming_[worker + 1]; ++i)
    if (job_.workers[job_.channels[by_receiver_[i]].from].stage == stage) return by_receiver_[i];
  throw InternalError("worker " + std::to_string(worker) + " has no channel from stage " +
                      std::to_string(stage));
}

std::uint32_t MessageBox::find(std::uint32_t channel, std::uint32_t tag) const {
  for (const std::uint32_t message : open_[channel])
    if (messages_[message].tag == tag) return message;
  return kNone;
}

std::uint32_t MessageBox::open(std::uint32_t channel, std::uint32_t tag) {
  if (const std::uint32_t known = find(channel, tag); known != kNone) return known;
  std::uint32_t message;
  if (free_.empty()) {
    message = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    message = free_.back();
    free_.pop_back();
  }
  messages_[message] = Message{};
  messages_[message].channel = channel;
  messages_[message].tag = tag;
  open_[channel].push_back(message);
  return message;
}

void MessageBox::close(std::uint32_t message) {
  auto& open = open_[messages_[message].channel];
  *std::find(open.begin(), open.end(), message) = open.back();
  open.pop_back();
  free_.push_back(message);
}
}  // namespace stepcast
