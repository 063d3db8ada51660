#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/kernels/emulation_lookup.hpp"
#include "tests/runtime/doubles/fake_cudart.hpp"

/// A double of libcudart.so.13 for tests: device memory is poisoned host memory, kernels are looked
/// up by mangled name in a g++ build of the same sources. What it does not know it does not export,
/// so a new call of the plugin fails when it is loaded. Streams, graphs and events are in
/// fake_cudart_streams.cpp.
namespace stepcast::doubles {
std::uint32_t hook_enqueued();
State& state() {
  static State* const instance = new State;  // fat binaries unregister after static destruction
  return *instance;
}
int& current_device() {
  thread_local int device = 0;
  return device;
}
namespace {
thread_local cudaError_t last_error = cudaSuccess;
struct LaunchShape {
  dim3 grid, block;
  std::size_t shared;
  void* stream;
};
thread_local std::vector<LaunchShape> launch_stack;

int devices() {
  const char* text = std::getenv("STEPCAST_DOUBLE_DEVICES");
  return text == nullptr ? 2 : std::atoi(text);
}
}  // namespace

cudaError_t answer(cudaError_t error) {
  if (error == cudaSuccess && sticky_error() != 0) error = static_cast<cudaError_t>(sticky_error());
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}
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
void wait_for_device() {
  std::set<FakeStream*> streams;
  {
    const std::lock_guard lock(state().mutex);
    streams = state().streams;
  }
  for (FakeStream* stream : streams)
    if (stream->device == current_device()) stream->synchronise();
}
cudaError_t push(cudaStream_t stream, Work work) {
  FakeStream* fake = known(stream);
  if (fake == nullptr) return answer(cudaErrorInvalidResourceHandle);
  if (fake->device != current_device())
    return answer(cudaErrorInvalidDevice);  // the plugin makes the stream's device current
  if (work.kind >= 0) work.correlation = hook_enqueued();
  fake->push(std::move(work));
  return answer(cudaSuccess);
}
}  // namespace stepcast::doubles
using namespace stepcast::doubles;

extern "C" {
void stepcast_double_fail(const char* function, int n) {
  const std::lock_guard lock(state().mutex);
  if (n == 0)
    state().fail_at.clear();
  else
    state().fail_at[function] = state().calls[function] + n;
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
  return static_cast<int>(state().memory.size() + state().pinned.size() + state().streams.size() +
                          state().events.size() + state().graphs.size());
}
std::uint32_t stepcast_double_stream_id(void* stream) {
  return static_cast<FakeStream*>(stream)->id;
}

// Registration by nvcc's generated code.
void** __cudaRegisterFatBinary(void*) { return new void*; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) { delete handle; }
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  const std::lock_guard lock(state().mutex);
  state().kernel_name[host] = name;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                     struct CUstream_st* stream) {
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
cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream) {
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
  if (grid.x == 0 || grid.y == 0 || grid.y > 65535 || grid.z > 65535 ||
      block.x * block.y * block.z > 1024)
    return answer(cudaErrorInvalidConfiguration);
  Work work;
  work.run = std::move(bound);
  work.kind = 0;
  work.name = name;
  return push(stream, std::move(work));
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared,
                          stream);
}
int stepcast_double_launch(void* stream, void (*run)(void*), void* data, const char* name) {
  Work work;
  work.run = [run, data] { run(data); };
  work.kind = 0;
  work.name = name;
  return push(static_cast<cudaStream_t>(stream), std::move(work));
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorLaunchOutOfResources:
      return "cudaErrorLaunchOutOfResources";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    default:
      return "cudaErrorUnknown";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "as asked by the test";
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaDriverGetVersion(int* version) {
  return *version = devices() > 0 ? 13000 : 0, cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  FAIL_IF_ASKED(cudaErrorInsufficientDriver);
  *count = devices();
  return devices() > 0 ? cudaSuccess : answer(cudaErrorInsufficientDriver);
}
cudaError_t cudaSetDevice(int device) {
  FAIL_IF_ASKED(cudaErrorInvalidDevice);
  if (device < 0 || device >= devices()) return answer(cudaErrorInvalidDevice);
  current_device() = device;
  return answer(cudaSuccess);
}
cudaError_t cudaGetDevice(int* device) { return *device = current_device(), cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  FAIL_IF_ASKED(cudaErrorInvalidDevice);
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "double of a GPU");
  properties->major = 9;
  properties->multiProcessorCount = 4;
  properties->totalGlobalMem = 1u << 30;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  return *value = 1000000, cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return *least = 0, *greatest = -5, answer(cudaSuccess);
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return *free = 1u << 20, *total = 1u << 30, cudaSuccess;
}
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
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind,
                            cudaStream_t stream) {
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
}  // extern "C"
