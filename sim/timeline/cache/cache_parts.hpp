#pragma once
#include <string>

#include "sim/timeline/cache/cache_blob.hpp"
#include "sim/timeline/read/import_report.hpp"
#include "sim/timeline/store/trace_store.hpp"

/// The small lists of a store (everything but its columns) and the report, to bytes and back.
namespace stepcast::trace {
void put_lists(BlobWriter& out, const TraceStore::Parts& parts);
void get_lists(BlobReader& in, TraceStore::Parts& parts);
void put_report(BlobWriter& out, const ImportReport& report);
void get_report(BlobReader& in, ImportReport& report);
}  // namespace stepcast::trace
