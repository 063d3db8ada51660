#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "runtime/kernels/emulation_lookup.hpp"
#include "tests/runtime/doubles/control.hpp"
#include "tests/runtime/doubles/fake_stream.hpp"

/// A double of libcudart.so.13 for tests: device memory is poisoned host memory, kernels are looked up by mangled name in a g++ build
/// of the same sources. What it does not know it does not export, so a new call of the plugin fails when it is loaded.
namespace stepcast::doubles {
std::uint32_t hook_enqueued();
namespace {
struct State {
  std::mutex mutex;
  std::map<std::string, int> calls, fail_at;
  std::set<void*> memory, pinned;
  std::set<FakeStream*> streams;
  std::set<FakeEvent*> events;
  std::set<void*> graphs;
  std::map<const void*, std::string> kernel_name;
  std::uint32_t next_stream = 7;  // CUPTI's ids do not start at 0 either
};
State& state() {
  static State* const instance = new State;  // fat binaries unregister after static destruction
  return *instance;
}
thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;
struct LaunchShape { dim3 grid, block; std::size_t shared; void* stream; };
thread_local std::vector<LaunchShape> launch_stack;

int devices() {
  const char* text = std::getenv("STEPCAST_DOUBLE_DEVICES");
  return text == nullptr ? 2 : std::atoi(text);
}
cudaError_t answer(cudaError_t error) {
  if (error == cudaSuccess && sticky_error() != 0) error = static_cast<cudaError_t>(sticky_error());
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}
bool fails(const char* function) { return stepcast_double_must_fail(function); }
FakeStream* known(cudaStream_t stream) {
  auto* fake = reinterpret_cast<FakeStream*>(stream);
  const std::lock_guard lock(state().mutex);
  return state().streams.count(fake) != 0 ? fake : nullptr;
}
FakeEvent* known(cudaEvent_t event) {
  auto* fake = reinterpret_cast<FakeEvent*>(event);
  const std::lock_guard lock(state().mutex);
  return state().events.count(fake) != 0 ? fake : nullptr;
}
/// What the current device's streams hold now ends. Not a call that a test may let fail.
void wait_for_device() {
  std::set<FakeStream*> streams;
  {
    const std::lock_guard lock(state().mutex);
    streams = state().streams;
  }
  for (FakeStream* stream : streams)
    if (stream->device == current_device) stream->synchronise();
}
cudaError_t push(cudaStream_t stream, Work work) {
  FakeStream* fake = known(stream);
  if (fake == nullptr) return answer(cudaErrorInvalidResourceHandle);
  if (fake->device != current_device) return answer(cudaErrorInvalidDevice);  // the plugin makes the stream's device current
  if (work.kind >= 0) work.correlation = hook_enqueued();
  fake->push(std::move(work));
  return answer(cudaSuccess);
}
}  // namespace
}  // namespace stepcast::doubles
using namespace stepcast::doubles;

#define FAIL_IF_ASKED(error) \
  if (fails(__func__)) return answer(error)

extern "C" {
void stepcast_double_fail(const char* function, int n) {
  const std::lock_guard lock(state().mutex);
  if (n == 0) state().fail_at.clear();
  else state().fail_at[function] = state().calls[function] + n;
}
bool stepcast_double_must_fail(const char* function) {
  const std::lock_guard lock(state().mutex);
  const int call = ++state().calls[function];
  const auto found = state().fail_at.find(function);
  return found != state().fail_at.end() && found->second == call;
}
int stepcast_double_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}
int stepcast_double_live() {
  const std::lock_guard lock(state().mutex);
  return static_cast<int>(state().memory.size() + state().pinned.size() + state().streams.size() + state().events.size() + state().graphs.size());
}
std::uint32_t stepcast_double_stream_id(void* stream) { return static_cast<FakeStream*>(stream)->id; }

// Registration by nvcc's generated code.
void** __cudaRegisterFatBinary(void*) { return new void*; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) { delete handle; }
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  const std::lock_guard lock(state().mutex);
  state().kernel_name[host] = name;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st* stream) {
  launch_stack.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  const LaunchShape shape = launch_stack.back();
  launch_stack.pop_back();
  *grid = shape.grid;
  *block = shape.block;
  *shared = shape.shared;
  *static_cast<void**>(stream) = shape.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  FAIL_IF_ASKED(cudaErrorLaunchOutOfResources);
  std::string name;
  {
    const std::lock_guard lock(state().mutex);
    const auto found = state().kernel_name.find(host);
    if (found == state().kernel_name.end()) return answer(cudaErrorInvalidDeviceFunction);
    name = found->second;
  }
  const unsigned shape[6] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
  std::function<void()> bound = stepcast::emulation::bind_kernel(name, shape, shared, arguments);
  if (!bound) return answer(cudaErrorInvalidDeviceFunction);
  if (grid.x == 0 || grid.y == 0 || grid.y > 65535 || grid.z > 65535 || block.x * block.y * block.z > 1024) return answer(cudaErrorInvalidConfiguration);
  Work work;
  work.run = std::move(bound);
  work.kind = 0;
  work.name = name;
  return push(stream, std::move(work));
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared, stream);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  Work work;
  work.run = [function, data] { function(data); };
  return push(stream, std::move(work));
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    default: return "cudaErrorUnknown";
  }
}
const char* cudaGetErrorString(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "out of memory" : "as asked by the test"; }
cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaDriverGetVersion(int* version) { return *version = devices() > 0 ? 13000 : 0, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  FAIL_IF_ASKED(cudaErrorInsufficientDriver);
  *count = devices();
  return devices() > 0 ? cudaSuccess : answer(cudaErrorInsufficientDriver);
}
cudaError_t cudaSetDevice(int device) {
  FAIL_IF_ASKED(cudaErrorInvalidDevice);
  if (device < 0 || device >= devices()) return answer(cudaErrorInvalidDevice);
  current_device = device;
  return answer(cudaSuccess);
}
cudaError_t cudaGetDevice(int* device) { return *device = current_device, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  FAIL_IF_ASKED(cudaErrorInvalidDevice);
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "double of a GPU");
  properties->major = 9;
  properties->multiProcessorCount = 4;
  properties->totalGlobalMem = 1u << 30;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) { return *value = 1000000, cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, answer(cudaSuccess); }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) { return *free = 1u << 20, *total = 1u << 30, cudaSuccess; }
cudaError_t cudaDeviceSynchronize() {
  FAIL_IF_ASKED(cudaErrorLaunchFailure);
  wait_for_device();
  return answer(cudaSuccess);
}

cudaError_t cudaMalloc(void** data, size_t size) {
  FAIL_IF_ASKED(cudaErrorMemoryAllocation);
  if (size > (std::size_t{1} << 30)) return answer(cudaErrorMemoryAllocation);
  *data = std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (*data == nullptr) return answer(cudaErrorMemoryAllocation);
  std::memset(*data, 0xff, size);  // a NaN as fp32 and as bf16
  const std::lock_guard lock(state().mutex);
  state().memory.insert(*data);
  return answer(cudaSuccess);
}
cudaError_t cudaFree(void* data) {
  FAIL_IF_ASKED(cudaErrorInvalidValue);
  {
    const std::lock_guard lock(state().mutex);
    if (state().memory.erase(data) == 0) return answer(cudaErrorInvalidValue);
  }
  wait_for_device();  // as the real one does
  std::free(data);
  return answer(cudaSuccess);
}
cudaError_t cudaHostAlloc(void** data, size_t size, unsigned) {
  FAIL_IF_ASKED(cudaErrorMemoryAllocation);
  *data = std::aligned_alloc(64, (size + 63) / 64 * 64);
  std::memset(*data, 0xff, size);
  const std::lock_guard lock(state().mutex);
  state().pinned.insert(*data);
  return answer(cudaSuccess);
}
cudaError_t cudaFreeHost(void* data) {
  wait_for_device();  // as the real one does
  const std::lock_guard lock(state().mutex);
  if (state().pinned.erase(data) == 0) return answer(cudaErrorInvalidValue);
  std::free(data);
  return answer(cudaSuccess);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t stream) {
  FAIL_IF_ASKED(cudaErrorInvalidValue);
  Work work;
  work.run = [=] { std::memmove(to, from, size); };
  work.kind = 1;
  return push(stream, std::move(work));
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t size, cudaStream_t stream) {
  FAIL_IF_ASKED(cudaErrorInvalidValue);
  Work work;
  work.run = [=] { std::memset(data, value, size); };
  work.kind = 2;
  return push(stream, std::move(work));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  FAIL_IF_ASKED(cudaErrorMemoryAllocation);
  const std::lock_guard lock(state().mutex);
  auto* fake = new FakeStream(current_device, state().next_stream++);
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
  *status = fake != nullptr && fake->capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  FAIL_IF_ASKED(cudaErrorInvalidResourceHandle);
  FakeEvent* fake = known(event);
  FakeStream* waiting = known(stream);
  if (fake == nullptr || waiting == nullptr) return answer(cudaErrorInvalidResourceHandle);
  if (fake->graph != nullptr) {  // the stream joins the capture; the graph runs its work in captured order
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
  if (const auto asked = state().fail_at.find(__func__); asked != state().fail_at.end() && asked->second == call)
    return answer(cudaErrorStreamCaptureInvalidated);
  auto* own = new std::shared_ptr<FakeGraph>(captured);
  state().graphs.insert(own);
  *graph = reinterpret_cast<cudaGraph_t>(own);
  return answer(cudaSuccess);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
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
  work.run = [fake, number, is_captured] { fake->reached(is_captured ? fake->recorded() : number); };
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
  if (a == nullptr || b == nullptr || !a->has_timing || !b->has_timing) return answer(cudaErrorInvalidResourceHandle);
  if (!a->is_reached() || !b->is_reached()) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(static_cast<double>(b->at() - a->at()) * 1e-6);
  return answer(cudaSuccess);
}
}  // extern "C"
