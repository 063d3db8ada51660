#pragma once
#include <cstdint>

#include "runtime/capture/device_records.hpp"

struct CUstream_st;

/// CUPTI's activity API: one per process, because CUPTI is.
namespace stepcast::runtime::cupti {
bool is_present();
std::uint32_t version();  // throws EnvironmentError when the library is missing
/// Throws EnvironmentError with CUPTI's reason; another profiler attached is named as such.
void start();
/// The caller has waited for the device. Returns everything since start().
RecordBatch stop();
void push(std::uint64_t external);
/// False when CUPTI refused; no exception, because scopes close in destructors.
bool pop() noexcept;
std::uint32_t stream_id(CUstream_st* stream);
}  // namespace stepcast::runtime::cupti
