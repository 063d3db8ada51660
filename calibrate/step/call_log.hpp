#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend/backend.hpp"
#include "sim/workload/op.hpp"

namespace stepcast::calibrate {

/// A collective that a step called.
struct CollectiveCall {
  Collective collective = Collective::all_reduce;
  Precision precision = Precision::fp32;
  std::int64_t elements = 0;  // of the whole buffer, as nccl-tests counts it
  int ranks = 1;
  std::string stream;  // that it was enqueued on
  Bytes bytes() const { return Bytes(elements * bytes_per_element(precision)); }
  bool operator==(const CollectiveCall&) const = default;
};

/// The backend itself, whose communicators also write down what they are called for: so that
/// collectives are measured in the very sizes and precisions that a step has, without a second
/// statement of them.
class CallLog final : public runtime::Backend {
 public:
  explicit CallLog(runtime::Backend& backend) : backend_(backend) {}
  const char* name() const override { return backend_.name(); }
  runtime::ProbeReport probe() override { return backend_.probe(); }
  std::unique_ptr<runtime::Device> open(int local_rank) override {
    return backend_.open(local_rank);
  }
  std::unique_ptr<runtime::Communicator> new_communicator(
      runtime::Device& device, runtime::Store& store,
      const runtime::GroupRequest& request) override;

  /// Forgets what was called and begins; from the thread that runs the steps.
  void start();
  void stop() { is_on_ = false; }
  const std::vector<CollectiveCall>& calls() const { return calls_; }
  void add(const CollectiveCall& call) {
    if (is_on_) calls_.push_back(call);
  }

 private:
  runtime::Backend& backend_;
  bool is_on_ = false;
  std::vector<CollectiveCall> calls_;
};
}  // namespace stepcast::calibrate
