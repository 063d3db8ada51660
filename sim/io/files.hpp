#pragma once
#include <cstdint>
#include <string>

#include "sim/core/result.hpp"

namespace stepcast {
/// Whole file as bytes; ".gz" content is inflated when the name ends in .gz. Problems: missing
/// (with the nearest name in that folder), a folder, unreadable, larger than `limit` bytes, corrupt
/// gzip.
Result<std::string> read_file(const std::string& path, std::int64_t limit = std::int64_t{1} << 30);

/// Writes to a temporary file beside `path` and renames it, so that a reader never sees half a
/// file. gzip-compressed when the name ends in .gz. Creates the parent folder. Throws
/// EnvironmentError.
void write_file(const std::string& path, const std::string& content);
}  // namespace stepcast
