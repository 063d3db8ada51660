#pragma once
#include <span>
#include <string>
#include <vector>

#include "sim/import/common/collective_match.hpp"
#include "sim/import/common/rank_trace.hpp"
#include "sim/profile/collective_profile.hpp"

namespace stepcast {
/// One thing to know or act on, with where in the traces it shows.
struct DiagnosisLine {
  Severity severity = Severity::info;
  std::string topic, text, where;
};
/// At most ten lines, gravest first: step spread, exposed communication, late ranks, launch-bound
/// share, data stalls, overlap achieved against possible, bandwidth of collectives (against the
/// profile when given). Each millisecond is owned by one line: exposed communication is split into
/// transfer and waiting for late ranks, idle GPU time into waiting for the host and other.
std::vector<DiagnosisLine> diagnosis_of(std::span<const RankTrace> traces,
                                        const CollectiveProfile* profile = nullptr);
std::string text_of(const std::vector<DiagnosisLine>& lines);
}  // namespace stepcast
