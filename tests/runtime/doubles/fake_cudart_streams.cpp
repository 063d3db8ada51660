#include <cstdint>
#include <memory>

#include "tests/runtime/doubles/fake_cudart.hpp"

/// Streams, graphs and events of the double of libcudart.so.13.
using namespace stepcast::doubles;

extern "C" {
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  FAIL_IF_ASKED(cudaErrorMemoryAllocation);
  const std::lock_guard lock(state().mutex);
  auto* fake = new FakeStream(current_device(), state().next_stream++);
  state().streams.insert(fake);
  *stream = reinterpret_cast<cudaStream_t>(fake);
  return answer(cudaSuccess);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  auto* fake = known(stream);
  if (fake == nullptr) return answer(cudaErrorInvalidResourceHandle);
  {
    const std::lock_guard lock(state().mutex);
    state().streams.erase(fake);
  }
  delete fake;
  return answer(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  FAIL_IF_ASKED(cudaErrorLaunchFailure);
  FakeStream* fake = known(stream);
  if (fake == nullptr) return answer(cudaErrorInvalidResourceHandle);
  if (fake->capture != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  fake->synchronise();
  return answer(cudaSuccess);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  FAIL_IF_ASKED(cudaErrorLaunchFailure);
  FakeStream* fake = known(stream);
  if (fake == nullptr) return answer(cudaErrorInvalidResourceHandle);
  if (fake->capture != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  return fake->is_idle() ? answer(cudaSuccess) : cudaErrorNotReady;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  FakeStream* fake = known(stream);
  *status = fake != nullptr && fake->capture != nullptr ? cudaStreamCaptureStatusActive
                                                        : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  FAIL_IF_ASKED(cudaErrorInvalidResourceHandle);
  FakeEvent* fake = known(event);
  FakeStream* waiting = known(stream);
  if (fake == nullptr || waiting == nullptr) return answer(cudaErrorInvalidResourceHandle);
  if (fake->graph !=
      nullptr) {  // the stream joins the capture; the graph runs its work in captured order
    waiting->capture = fake->graph;
    return answer(cudaSuccess);
  }
  Work work;
  work.run = [fake, number = fake->last()] { fake->await(number); };
  return push(stream, std::move(work));
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  FAIL_IF_ASKED(cudaErrorStreamCaptureUnsupported);
  FakeStream* fake = known(stream);
  if (fake == nullptr || fake->capture != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  fake->capture = std::make_shared<FakeGraph>();
  return answer(cudaSuccess);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  FakeStream* fake = known(stream);
  if (fake == nullptr || fake->capture == nullptr) return answer(cudaErrorStreamCaptureInvalidated);
  const std::shared_ptr<FakeGraph> captured = fake->capture;
  const std::lock_guard lock(state().mutex);
  for (FakeStream* other : state().streams)
    if (other->capture == captured) other->capture = nullptr;
  for (FakeEvent* event : state().events)
    if (event->graph == captured) event->graph = nullptr;
  const auto call = ++state().calls[__func__];
  if (const auto asked = state().fail_at.find(__func__);
      asked != state().fail_at.end() && asked->second == call)
    return answer(cudaErrorStreamCaptureInvalidated);
  auto* own = new std::shared_ptr<FakeGraph>(captured);
  state().graphs.insert(own);
  *graph = reinterpret_cast<cudaGraph_t>(own);
  return answer(cudaSuccess);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  FAIL_IF_ASKED(cudaErrorMemoryAllocation);
  auto* own = new std::shared_ptr<FakeGraph>(*reinterpret_cast<std::shared_ptr<FakeGraph>*>(graph));
  const std::lock_guard lock(state().mutex);
  state().graphs.insert(own);
  *executable = reinterpret_cast<cudaGraphExec_t>(own);
  return answer(cudaSuccess);
}
static cudaError_t drop_graph(void* graph) {
  const std::lock_guard lock(state().mutex);
  if (state().graphs.erase(graph) == 0) return answer(cudaErrorInvalidResourceHandle);
  delete static_cast<std::shared_ptr<FakeGraph>*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return drop_graph(graph); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return drop_graph(graph); }
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  FAIL_IF_ASKED(cudaErrorLaunchOutOfResources);
  const auto graph = *reinterpret_cast<std::shared_ptr<FakeGraph>*>(executable);
  for (std::size_t i = 0; i < graph->work.size(); ++i) {
    Work work = graph->work[i];
    work.graph_node = i + 1;
    if (const cudaError_t error = push(stream, std::move(work)); error != cudaSuccess) return error;
  }
  return answer(cudaSuccess);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  FAIL_IF_ASKED(cudaErrorMemoryAllocation);
  auto* fake = new FakeEvent((flags & cudaEventDisableTiming) == 0);
  const std::lock_guard lock(state().mutex);
  state().events.insert(fake);
  *event = reinterpret_cast<cudaEvent_t>(fake);
  return answer(cudaSuccess);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  FakeEvent* fake = known(event);
  if (fake == nullptr) return answer(cudaErrorInvalidResourceHandle);
  {
    const std::lock_guard lock(state().mutex);
    state().events.erase(fake);
  }
  wait_for_device();  // queued waits refer to it; the real one defers
  delete fake;
  return answer(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  FAIL_IF_ASKED(cudaErrorInvalidResourceHandle);
  FakeEvent* fake = known(event);
  FakeStream* on = known(stream);
  if (fake == nullptr || on == nullptr) return answer(cudaErrorInvalidResourceHandle);
  fake->graph = on->capture;
  const bool is_captured = on->capture != nullptr;
  const std::uint64_t number = is_captured ? 0 : fake->recorded();
  Work work;
  work.run = [fake, number, is_captured] {
    fake->reached(is_captured ? fake->recorded() : number);
  };
  return push(stream, std::move(work));
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  FAIL_IF_ASKED(cudaErrorLaunchFailure);
  FakeEvent* fake = known(event);
  if (fake == nullptr) return answer(cudaErrorInvalidResourceHandle);
  return fake->is_reached() ? answer(cudaSuccess) : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  FAIL_IF_ASKED(cudaErrorLaunchFailure);
  FakeEvent* fake = known(event);
  if (fake == nullptr) return answer(cudaErrorInvalidResourceHandle);
  fake->await(fake->last());
  return answer(cudaSuccess);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  FAIL_IF_ASKED(cudaErrorInvalidResourceHandle);
  FakeEvent *a = known(from), *b = known(to);
  if (a == nullptr || b == nullptr || !a->has_timing || !b->has_timing)
    return answer(cudaErrorInvalidResourceHandle);
  if (!a->is_reached() || !b->is_reached()) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(static_cast<double>(b->at() - a->at()) * 1e-6);
  return answer(cudaSuccess);
}
}  // extern "C"
