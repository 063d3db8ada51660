#include <cupti.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/doubles/control.hpp"

/// A double of libcupti.so.13: records of the double of cudart's work in buffers that the client
/// gives, as CUPTI lays them out.
namespace {
struct State {
  std::mutex mutex;
  std::set<int> enabled;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::vector<unsigned char> waiting;  // records not yet delivered
  std::set<std::string> names;         // records point at them
  std::size_t dropped = 0;
};
State& state() {
  static State* const instance = new State;
  return *instance;
}
std::atomic<std::uint32_t> next_correlation{1};
thread_local std::vector<std::uint64_t> external;

bool is_on(CUpti_ActivityKind kind) { return state().enabled.count(kind) != 0; }
template <class Record>
void keep(const Record& record) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&record);
  state().waiting.insert(state().waiting.end(), bytes, bytes + sizeof record);
}
std::uint32_t enqueued() {
  const std::uint32_t correlation = next_correlation++;
  const std::lock_guard lock(state().mutex);
  // As CUPTI: correlation records exist only while an API kind is on.
  if (!external.empty() && is_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) &&
      is_on(CUPTI_ACTIVITY_KIND_RUNTIME)) {
    CUpti_ActivityExternalCorrelation record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    record.externalId = external.back();
    record.correlationId = correlation;
    keep(record);
  }
  return correlation;
}
template <class Record>
Record timed(CUpti_ActivityKind kind, std::uint32_t correlation, std::uint32_t stream,
             std::int64_t start, std::int64_t end, std::uint64_t node) {
  Record record{};
  record.kind = kind;
  record.start = static_cast<std::uint64_t>(start);
  record.end = static_cast<std::uint64_t>(end);
  record.streamId = stream;
  record.correlationId = correlation;
  record.graphNodeId = node;
  return record;
}
void executed(int kind, std::uint32_t correlation, std::uint32_t stream, std::int64_t start,
              std::int64_t end, const char* name, std::uint64_t node) {
  const std::lock_guard lock(state().mutex);
  if (kind == 0 && is_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
    auto record = timed<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, correlation,
                                                stream, start, end, node);
    record.name = state().names.insert(name).first->c_str();
    keep(record);
  }
  if (kind == 1 && is_on(CUPTI_ACTIVITY_KIND_MEMCPY))
    keep(timed<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY, correlation, stream, start, end,
                                      node));
  if (kind == 2 && is_on(CUPTI_ACTIVITY_KIND_MEMSET))
    keep(timed<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, correlation, stream, start, end,
                                      node));
}
std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    default:
      return sizeof(CUpti_ActivityExternalCorrelation);
  }
}
}  // namespace

#define FAIL_IF_ASKED() \
  if (stepcast_double_must_fail(__func__)) return CUPTI_ERROR_UNKNOWN
extern "C" {
CUptiResult cuptiGetVersion(uint32_t* version) { return *version = 130001, CUPTI_SUCCESS; }
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  return *text = "CUPTI_ERROR_UNKNOWN", CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  FAIL_IF_ASKED();
  state().request = request;
  state().complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc) {
  FAIL_IF_ASKED();
  return state().enabled.empty() ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAIL_IF_ASKED();
  static const StepcastDoubleHook hook{enqueued, executed};
  stepcast_double_set_hook(&hook);
  const std::lock_guard lock(state().mutex);
  state().enabled.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().enabled.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  FAIL_IF_ASKED();
  std::vector<unsigned char> records;
  {
    const std::lock_guard lock(state().mutex);
    records.swap(state().waiting);
  }
  for (std::size_t at = 0; at < records.size();) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0, filled = 0;
    state().request(&buffer, &size, &most);
    while (at < records.size()) {
      const std::size_t bytes =
          size_of(reinterpret_cast<const CUpti_Activity*>(records.data() + at)->kind);
      if (buffer == nullptr) {
        ++state().dropped;
        at += bytes;
        continue;
      }
      if (filled + bytes > size) break;
      std::memcpy(buffer + filled, records.data() + at, bytes);
      filled += bytes;
      at += bytes;
    }
    if (buffer != nullptr) state().complete(nullptr, 0, buffer, size, filled);
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  const std::size_t at =
      *record == nullptr
          ? 0
          : static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer) +
                size_of((*record)->kind);
  if (at >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + at);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = state().dropped;
  state().dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t id) {
  FAIL_IF_ASKED();
  external.push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t* last) {
  FAIL_IF_ASKED();
  if (external.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  *last = external.back();
  external.pop_back();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t, uint32_t* id) {
  FAIL_IF_ASKED();
  *id = stepcast_double_stream_id(stream);
  return CUPTI_SUCCESS;
}
}  // extern "C"
