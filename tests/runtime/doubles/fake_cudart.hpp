#pragma once
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tests/runtime/doubles/control.hpp"
#include "tests/runtime/doubles/fake_stream.hpp"

/// What the parts of the double of cudart share.
namespace stepcast::doubles {
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
State& state();
int& current_device();
/// Notes the error for cudaGetLastError; a sticky one stays in place of success.
cudaError_t answer(cudaError_t error);
/// nullptr where the plugin never got such a handle from us.
FakeStream* known(cudaStream_t stream);
FakeEvent* known(cudaEvent_t event);
/// What the current device's streams hold now ends. Not a call that a test may let fail.
void wait_for_device();
cudaError_t push(cudaStream_t stream, Work work);
}  // namespace stepcast::doubles

#define FAIL_IF_ASKED(error) \
  if (stepcast_double_must_fail(__func__)) return answer(error)
