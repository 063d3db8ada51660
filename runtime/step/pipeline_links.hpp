#pragma once
#include <memory>

#include "runtime/layers/layer_context.hpp"
#include "runtime/model/model.hpp"

namespace stepcast::runtime {
/// Activations to the next pipeline stage and gradients to the one before, on streams of their own,
/// so that compute goes on. Each direction has one buffer; events keep a message from overwriting
/// what is still being read.
///
///   recv     |in 0|   |in 1|
///   compute       [fwd 0]  [fwd 1]      copies its input away at once, so the next message may
///   land send                |out 0|  |out 1|
class PipelineLinks {
 public:
  /// `group`: the stages in order; this rank's rank in it is its stage.
  PipelineLinks(Device& device, Stream& compute, Communicator& group, std::int64_t elements,
                Precision precision);

  StageTensors tensors() const;
  void before_forward(std::int32_t micro_batch);  // the input is there, the output buffer free
  void after_forward(std::int32_t micro_batch);   // the output leaves
  void before_backward(std::int32_t micro_batch);
  void after_backward(std::int32_t micro_batch);

 private:
  /// A buffer that one stream fills and another empties.
  struct Box {
    Buffer data;
    std::unique_ptr<Event> filled, emptied;
    bool was_used = false;
  };
  Box box() const;
  void receive(Box& box, int from, std::int32_t micro_batch);
  void send(Box& box, int to, std::int32_t micro_batch);
  void reserve(Box& box);  // compute may fill it

  Device& device_;
  Stream& compute_;
  Communicator& group_;
  std::int64_t elements_;
  Precision precision_;
  std::unique_ptr<Stream> send_, receive_;
  Box input_, output_, output_gradient_, input_gradient_;
};
}  // namespace stepcast::runtime
