#include "runtime/cuda/cupti_decode.hpp"

namespace stepcast::runtime {
namespace {
template <class Record>
DeviceRecord common(DeviceRecord::Kind kind, const CUpti_Activity* activity) {
  const auto* record = reinterpret_cast<const Record*>(activity);
  DeviceRecord result;
  result.kind = kind;
  result.start = static_cast<Nanoseconds>(record->start);
  result.end = static_cast<Nanoseconds>(record->end);
  result.stream = record->streamId;
  result.correlation = record->correlationId;
  result.graph_node = record->graphNodeId;
  return result;
}
}  // namespace

void decode(NextRecord next, std::uint8_t* buffer, std::size_t valid_bytes, RecordBatch& batch) {
  using Kind = DeviceRecord::Kind;
  CUpti_Activity* activity = nullptr;
  while (next(buffer, valid_bytes, &activity) == CUPTI_SUCCESS) {
    switch (activity->kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        DeviceRecord record = common<CUpti_ActivityKernel10>(Kind::kernel, activity);
        const char* name = reinterpret_cast<const CUpti_ActivityKernel10*>(activity)->name;
        if (name != nullptr) record.name = name;
        batch.records.push_back(std::move(record));
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        batch.records.push_back(common<CUpti_ActivityMemcpy6>(Kind::copy, activity));
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        batch.records.push_back(common<CUpti_ActivityMemcpyPtoP4>(Kind::peer_copy, activity));
        break;
      case CUPTI_ACTIVITY_KIND_MEMSET:
        batch.records.push_back(common<CUpti_ActivityMemset4>(Kind::fill, activity));
        break;
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const auto* record = reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(activity);
        if (record->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
          batch.external_of[record->correlationId] = record->externalId;
        break;
      }
      // Enabled only because external correlation needs an API kind; the labels' own host times are
      // finer.
      case CUPTI_ACTIVITY_KIND_RUNTIME:
      case CUPTI_ACTIVITY_KIND_DRIVER:
      case CUPTI_ACTIVITY_KIND_MARKER:
      case CUPTI_ACTIVITY_KIND_OVERHEAD:
        break;
      default:
        ++batch.losses.unknown;
    }
  }
}
}  // namespace stepcast::runtime
