#pragma once
#include <cupti.h>

#include "runtime/capture/device_records.hpp"

/// The one file pair that knows CUPTI's record structs (API 130000: Kernel10, Memcpy6, MemcpyPtoP4,
/// Memset4).
namespace stepcast::runtime {
using NextRecord = decltype(&cuptiActivityGetNextRecord);
/// Adds the records of one completed buffer. `next` is CUPTI's own walker; names are copied, so the
/// buffer may go afterwards.
void decode(NextRecord next, std::uint8_t* buffer, std::size_t valid_bytes, RecordBatch& batch);
}  // namespace stepcast::runtime
