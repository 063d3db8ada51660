#pragma once
#include "runtime/comm/communicator.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
/// A group of one rank: sums are what they were, gathers are copies. A header, so that a plugin
/// takes it without another library.
class SingleCommunicator final : public Communicator {
 public:
  explicit SingleCommunicator(Device& device) : device_(device) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(Stream&, View, ElementCount, Reduction) override {}
  void all_gather(Stream& stream, View input, View output, ElementCount count) override {
    copy(stream, input, output, count);
  }
  void reduce_scatter(Stream& stream, View input, View output, ElementCount count) override {
    copy(stream, input, output, count);
  }
  void broadcast(Stream&, View, ElementCount, int) override {}
  void all_to_all(Stream& stream, View input, View output, ElementCount count) override {
    copy(stream, input, output, count);
  }
  void send(Stream&, View, ElementCount, int) override {
    STEPCAST_ASSERT(false, "a group of one has no peer to send to");
  }
  void receive(Stream&, View, ElementCount, int) override {
    STEPCAST_ASSERT(false, "a group of one has no peer to receive from");
  }
  void barrier() override {}

 private:
  void copy(Stream& stream, View input, View output, ElementCount count) {
    if (input.data != output.data)
      device_.copy(stream, output.data, input.data,
                   Bytes(count.value * bytes_per_element(input.precision)));
  }
  Device& device_;
};
}  // namespace stepcast::runtime
