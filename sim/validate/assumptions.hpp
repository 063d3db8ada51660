#pragma once
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/io/json_fwd.hpp"
#include "sim/validate/table_row.hpp"

/// What a published table leaves out, stated once for the whole table as data:
/// scenarios/validation/*.json.
namespace stepcast {

/// Applies where every named column matches its pattern (regular expression, any case, found
/// anywhere in the cell). Rules see what a row says of itself - model, accelerator, recompute - and
/// never which row it is.
struct AssumptionRule {
  std::vector<std::pair<std::string, std::regex>> when;
  std::map<std::string, std::string> fill;  // cells to fill where the source left them empty
  std::map<std::string, std::string>
      overwrite;        // cells the source states in another column's words
  std::string set;      // scenario patch, JSON text; "" = none
  std::string skip;     // reason why such rows cannot be expressed; "" = none
  std::string because;  // printed with the assumptions; "" = mere notation
};

/// What the project asks of itself on a table; fractions. Rank correlation is a least value, the
/// rest are largest ones.
struct ErrorBars {
  std::optional<double> mape, memory_mape, median_error, bias, rank_correlation;
};

struct AssumptionSet {
  std::string name;                 // the table it scores
  std::vector<std::string> tables;  // values of the "table" column, or a format's name
  std::vector<std::string> statements;
  std::string scenario = "{}";  // base of every row's scenario, JSON text
  std::vector<AssumptionRule> rules;
  std::vector<std::int64_t> micro_batches;  // candidates where a row names none
  /// Columns that give the measured step, first one that is filled wins; see measured_step.
  std::vector<std::string> measured{"step_time_s"};
  ErrorBars bars;
};

/// All sets of a folder, and the rules every set starts from (common.json).
struct AssumptionBook {
  std::vector<AssumptionRule> common;
  std::vector<AssumptionSet> sets;
  /// The set of a table, whose label may go on after a colon ("nccl_one_node:h200-sxm5-141g");
  /// sets.back(), named "default", where none names it.
  const AssumptionSet& set_for(const std::string& table) const;
};
Result<AssumptionBook> read_assumptions(const std::string& folder);

/// A row under its set: cells filled, scenario patched, or the reason why not.
struct AssumedRow {
  TableRow row;
  std::string scenario;  // base and patches, JSON text
  std::string skip;
};
AssumedRow assume(const AssumptionBook& book, const AssumptionSet& set, TableRow row);

/// The sentences to print for a set: its statements, then the reasons of its rules.
std::vector<std::string> statements_of(const AssumptionSet& set);
}  // namespace stepcast
