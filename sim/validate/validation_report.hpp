#pragma once
#include <string>

#include "sim/io/json_fwd.hpp"
#include "sim/validate/assumptions.hpp"
#include "sim/validate/score.hpp"

namespace stepcast {
/// The whole result with stable names. Top level: rows and figures of all time measures together,
/// `memory` likewise in bytes when the table has any, `tables` one entry per (table, metric),
/// skipped, assumptions.
Json validation_json(const Scores& scores, const AssumptionBook& book, const std::string& file);
/// For a terminal: one line per table, the worst `worst` rows of each, what was skipped and
/// assumed.
std::string validation_text(const Scores& scores, const AssumptionBook& book,
                            const std::string& file, int worst);
/// For a document: the same as tables, with the bars each table is held to.
std::string validation_markdown(const Scores& scores, const AssumptionBook& book, int worst);
const char* name_of(Metric metric);
}  // namespace stepcast
