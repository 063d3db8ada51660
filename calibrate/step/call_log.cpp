#include "calibrate/step/call_log.hpp"

namespace stepcast::calibrate {
using runtime::ElementCount;
using runtime::Reduction;
using runtime::Stream;
using runtime::View;
namespace {
/// A communicator that notes each call and passes it on.
class NotingCommunicator final : public runtime::Communicator {
 public:
  NotingCommunicator(CallLog& log, std::unique_ptr<Communicator> inner)
      : log_(log), inner_(std::move(inner)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void all_reduce(Stream& s, View data, ElementCount n, Reduction reduction) override {
    note(Collective::all_reduce, s, data, n.value);
    inner_->all_reduce(s, data, n, reduction);
  }
  void all_gather(Stream& s, View input, View output, ElementCount n) override {
    note(Collective::all_gather, s, input, n.value * size());
    inner_->all_gather(s, input, output, n);
  }
  void reduce_scatter(Stream& s, View input, View output, ElementCount n) override {
    note(Collective::reduce_scatter, s, input, n.value * size());
    inner_->reduce_scatter(s, input, output, n);
  }
  void broadcast(Stream& s, View data, ElementCount n, int root) override {
    note(Collective::broadcast, s, data, n.value);
    inner_->broadcast(s, data, n, root);
  }
  void all_to_all(Stream& s, View input, View output, ElementCount n) override {
    note(Collective::all_to_all, s, input, n.value * size());
    inner_->all_to_all(s, input, output, n);
  }
  void send(Stream& s, View data, ElementCount n, int to) override {
    note(Collective::send_recv, s, data, n.value);
    inner_->send(s, data, n, to);
  }
  void receive(Stream& s, View data, ElementCount n, int from) override {
    inner_->receive(s, data, n, from);  // its sender notes the message
  }
  void barrier() override { inner_->barrier(); }

 private:
  void note(Collective collective, Stream& stream, View data, std::int64_t elements) {
    log_.add({collective, data.precision, elements, size(), stream.name()});
  }
  CallLog& log_;
  std::unique_ptr<Communicator> inner_;
};
}  // namespace

std::unique_ptr<runtime::Communicator> CallLog::new_communicator(
    runtime::Device& device, runtime::Store& store, const runtime::GroupRequest& request) {
  return std::make_unique<NotingCommunicator>(*this,
                                              backend_.new_communicator(device, store, request));
}
void CallLog::start() {
  calls_.clear();
  is_on_ = true;
}
}  // namespace stepcast::calibrate
