#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "sim/core/result.hpp"

/// The one door to nlohmann/json. Headers of other folders include json_fwd.hpp only; .cpp files
/// that read or write JSON include this. Keys keep the order in which they were written.
namespace stepcast {
using Json = nlohmann::ordered_json;

/// Parses JSON with // and /* */ comments. Refuses, with one Problem: unreadable file, more than
/// `limit_MiB`, invalid UTF-8, syntax errors (line and column), duplicate keys, nesting deeper
/// than 64.
Result<Json> parse_json(const std::string& text, const std::string& file_name);
Result<Json> read_json_file(const std::string& path, int limit_MiB = 32);

/// Overlays `patch` on `base`: objects merge key by key, everything else replaces. (RFC 7396
/// without null.)
void merge_json(Json& base, const Json& patch);

/// Applies one `--set /json/pointer=value`. The value is JSON where it parses as such, else a
/// string. Creates missing objects; an index into a missing array or a pointer through a scalar is
/// a Problem.
Result<bool> apply_setting(Json& document, const std::string& setting);
}  // namespace stepcast
