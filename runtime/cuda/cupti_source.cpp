#include "runtime/cuda/cupti_source.hpp"

#include <cupti.h>

#include <cstdlib>
#include <mutex>

#include "runtime/cuda/cupti_decode.hpp"
#include "runtime/cuda/library.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime::cupti {
namespace {
constexpr std::size_t kBuffer = 4u << 20;  // bytes; about 18000 kernel records of 216 bytes
constexpr std::size_t kMostBuffers = 256;  // 1 GiB of records, then CUPTI drops and says how many
// Kernels, not KERNEL: that kind would run them one after another. RUNTIME is there for the
// correlation records alone.
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2,
                                         CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                         CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_OVERHEAD};

struct Api {
  Library library{"libcupti.so.13", "the CUDA toolkit's CUPTI"};
  decltype(::cuptiGetVersion)* version;
  decltype(::cuptiGetResultString)* result_text;
  decltype(::cuptiActivityRegisterCallbacks)* register_callbacks;
  decltype(::cuptiActivityRegisterTimestampCallback)* register_clock;
  decltype(::cuptiActivityEnable)* enable;
  decltype(::cuptiActivityDisable)* disable;
  decltype(::cuptiActivityFlushAll)* flush;
  decltype(::cuptiActivityGetNextRecord)* next;
  decltype(::cuptiActivityGetNumDroppedRecords)* dropped;
  decltype(::cuptiActivityPushExternalCorrelationId)* push;
  decltype(::cuptiActivityPopExternalCorrelationId)* pop;
  decltype(::cuptiGetStreamIdEx)* stream_id;
  Api() {
    library.find(version, "cuptiGetVersion");
    library.find(result_text, "cuptiGetResultString");
    library.find(register_callbacks, "cuptiActivityRegisterCallbacks");
    library.find(register_clock, "cuptiActivityRegisterTimestampCallback");
    library.find(enable, "cuptiActivityEnable");
    library.find(disable, "cuptiActivityDisable");
    library.find(flush, "cuptiActivityFlushAll");
    library.find(next, "cuptiActivityGetNextRecord");
    library.find(dropped, "cuptiActivityGetNumDroppedRecords");
    library.find(push, "cuptiActivityPushExternalCorrelationId");
    library.find(pop, "cuptiActivityPopExternalCorrelationId");
    library.find(stream_id, "cuptiGetStreamIdEx");
  }
};
Api& api() {
  static Api instance;
  return instance;
}

std::mutex mutex;
RecordBatch batch;       // under mutex
std::size_t in_use = 0;  // buffers that CUPTI holds, under mutex

void check(CUptiResult status, const char* call) {
  if (status == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  api().result_text(status, &text);
  std::string reason = std::string(call) + " failed with " + (text == nullptr ? "unknown" : text);
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    reason += ": another profiler is attached to this process; detach it";
  if (status == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    reason +=
        ": the driver reserves profiling for root; set NVreg_RestrictProfilingToAdminUsers=0 or "
        "run as root";
  throw EnvironmentError(reason);
}
/// CUPTI asks per thread and never twice for a buffer that it still holds, so each answer is fresh
/// memory.
void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *most_records = 0;
  *size = 0;
  *buffer = nullptr;
  const std::lock_guard lock(mutex);
  if (in_use >= kMostBuffers) return;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBuffer));
  if (*buffer == nullptr) return;
  *size = kBuffer;
  ++in_use;
}
void CUPTIAPI complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                       std::size_t /*size*/, std::size_t valid) {
  const std::lock_guard lock(mutex);
  if (valid > 0) decode(api().next, buffer, valid, batch);
  std::size_t dropped = 0;
  if (api().dropped(context, stream, &dropped) == CUPTI_SUCCESS)
    batch.losses.dropped += static_cast<std::int64_t>(dropped);
  std::free(buffer);
  if (in_use > 0) --in_use;
}
/// The recorder's clock: CUPTI's default is CLOCK_REALTIME, which NTP steps.
std::uint64_t CUPTIAPI now() { return static_cast<std::uint64_t>(Recorder::now()); }
}  // namespace

bool is_present() {
  static Library library{"libcupti.so.13", "CUPTI"};
  return library.is_present();
}
std::uint32_t version() {
  std::uint32_t number = 0;
  check(api().version(&number), "cuptiGetVersion");
  return number;
}
void start() {
  {
    const std::lock_guard lock(mutex);
    batch = RecordBatch{};
  }
  static bool is_registered = false;
  if (!is_registered) {
    // Before any kind is enabled, as CUPTI asks.
    check(api().register_clock(now), "cuptiActivityRegisterTimestampCallback");
    check(api().register_callbacks(request, complete), "cuptiActivityRegisterCallbacks");
    is_registered = true;
  }
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    const CUptiResult status = api().enable(kKinds[i]);
    if (status == CUPTI_SUCCESS) continue;
    for (std::size_t j = 0; j < i; ++j) api().disable(kKinds[j]);
    check(status, "cuptiActivityEnable");
  }
}
RecordBatch stop() {
  CUptiResult status = api().flush(0);  // the device is idle, so every record is complete
  for (const CUpti_ActivityKind kind : kKinds) api().disable(kind);
  const CUptiResult last = api().flush(0);
  check(status != CUPTI_SUCCESS ? status : last, "cuptiActivityFlushAll");
  const std::lock_guard lock(mutex);
  RecordBatch result = std::move(batch);
  batch = RecordBatch{};
  return result;
}
void push(std::uint64_t external) {
  check(api().push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, external),
        "cuptiActivityPushExternalCorrelationId");
}
bool pop() noexcept {
  std::uint64_t last = 0;
  return api().pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last) == CUPTI_SUCCESS;
}
std::uint32_t stream_id(CUstream_st* stream) {
  std::uint32_t id = 0;
  check(api().stream_id(nullptr, stream, 0, &id), "cuptiGetStreamIdEx");
  return id;
}
}  // namespace stepcast::runtime::cupti
