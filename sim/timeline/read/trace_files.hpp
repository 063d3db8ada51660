#pragma once
#include <string>
#include <vector>

#include "sim/timeline/read/import_report.hpp"

namespace stepcast::trace {
/// Files behind what a person names: a file itself, of a folder what reads as a trace (by its first
/// bytes), in natural order. Skipped files are counted in the anomalies. Throws InputError: missing
/// path, a folder without traces.
std::vector<std::string> trace_files(const std::vector<std::string>& paths, Anomalies& anomalies);
}  // namespace stepcast::trace
