#include "sim/validate/assumptions.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"

namespace stepcast {
namespace {

std::map<std::string, std::string> read_cells(ObjectReader& reader, const std::string& key) {
  std::map<std::string, std::string> cells;
  const Json* node = reader.raw(key);
  if (node == nullptr) return cells;
  if (!node->is_object()) {
    reader.problem(key, "is not an object of column: value");
    return cells;
  }
  for (const auto& [column, value] : node->items())
    cells[column] = value.is_string() ? value.get<std::string>() : value.dump();
  return cells;
}

AssumptionRule read_rule(ObjectReader reader) {
  AssumptionRule rule;
  for (const auto& [column, pattern] : read_cells(reader, "when")) {
    // A rule that names a row would tune to it; the table is the smallest thing an assumption may
    // speak of.
    if (column == "row_id" || column == "case" || column == "log_id" ||
        column.ends_with("step_time_s"))
      reader.problem("when", "\"" + column + "\" picks single rows or looks at the answer",
                     "assumptions hold for a whole table");
    try {
      rule.when.emplace_back(column,
                             std::regex(pattern, std::regex::ECMAScript | std::regex::icase));
    } catch (const std::regex_error& error) {
      reader.problem("when", "\"" + pattern + "\" is no regular expression: " + error.what());
    }
  }
  rule.fill = read_cells(reader, "fill");
  rule.overwrite = read_cells(reader, "overwrite");
  if (const Json* set = reader.raw("set")) rule.set = set->dump();
  rule.skip = reader.text("skip", "");
  rule.because = reader.text("because", "");
  reader.done();
  return rule;
}

std::vector<AssumptionRule> read_rules(ObjectReader& reader) {
  std::vector<AssumptionRule> rules;
  for (ObjectReader& rule : reader.objects("rules")) rules.push_back(read_rule(std::move(rule)));
  return rules;
}

AssumptionSet read_set(ObjectReader& reader, const std::string& name) {
  AssumptionSet set;
  set.name = name;
  set.tables = reader.texts("tables");
  set.statements = reader.texts("assumptions");
  if (const Json* base = reader.raw("scenario")) set.scenario = base->dump();
  set.rules = read_rules(reader);
  set.micro_batches = reader.integers("micro_batches", {.min = 1, .max = 4096});
  if (const auto measured = reader.texts("measured"); !measured.empty()) set.measured = measured;
  if (auto bars = reader.object("bars")) {
    set.bars.mape = bars->optional_number("mape", {.max = 10});
    set.bars.memory_mape = bars->optional_number("memory_mape", {.max = 10});
    set.bars.median_error = bars->optional_number("median_error", {.max = 10});
    set.bars.bias = bars->optional_number("bias", {.max = 10});
    set.bars.rank_correlation = bars->optional_number("rank_correlation", {.max = 1});
    bars->done();
  }
  return set;
}

bool applies(const AssumptionRule& rule, const TableRow& row) {
  return std::all_of(rule.when.begin(), rule.when.end(), [&](const auto& condition) {
    return std::regex_search(row.text(condition.first), condition.second);
  });
}
}  // namespace

const AssumptionSet& AssumptionBook::set_for(const std::string& table) const {
  const std::string name = table.substr(0, table.find(':'));
  for (const AssumptionSet& set : sets)
    if (std::find(set.tables.begin(), set.tables.end(), name) != set.tables.end()) return set;
  return sets.back();
}

Result<AssumptionBook> read_assumptions(const std::string& folder) {
  namespace fs = std::filesystem;
  AssumptionBook book;
  Problems problems;
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  if (error)
    problems.add({folder, "", "cannot be listed: " + error.message(),
                  "it holds the assumptions of each table"});
  std::sort(files.begin(), files.end());
  std::optional<AssumptionSet> fallback;
  for (const fs::path& file : files) {
    const auto json = read_json_file(file.string());
    if (!json) {
      problems.add(json.problems());
      continue;
    }
    ObjectReader reader(*json, file.string(), "", problems);
    const std::string stem = file.stem().string();
    if (stem == "common")
      book.common = read_rules(reader);
    else if (stem == "default")
      fallback = read_set(reader, stem);
    else
      book.sets.push_back(read_set(reader, stem));
    reader.done();
  }
  if (!fallback && !error)
    problems.add({folder, "", "has no default.json", "it serves tables no set names"});
  if (!problems.empty()) return problems;
  book.sets.push_back(std::move(*fallback));
  return book;
}

AssumedRow assume(const AssumptionBook& book, const AssumptionSet& set, TableRow row) {
  AssumedRow assumed{std::move(row), "", ""};
  Json scenario = Json::object();
  const auto run = [&](const std::vector<AssumptionRule>& rules) {
    for (const AssumptionRule& rule : rules) {
      if (!applies(rule, assumed.row)) continue;
      for (const auto& [column, text] : rule.fill) assumed.row.fill(column, text);
      for (const auto& [column, text] : rule.overwrite) assumed.row.overwrite(column, text);
      if (!rule.set.empty()) merge_json(scenario, Json::parse(rule.set));
      if (!rule.skip.empty() && assumed.skip.empty()) assumed.skip = rule.skip;
    }
  };
  run(book.common);
  merge_json(scenario, Json::parse(set.scenario));
  run(set.rules);
  assumed.scenario = scenario.dump();
  return assumed;
}

std::vector<std::string> statements_of(const AssumptionSet& set) {
  std::vector<std::string> statements = set.statements;
  for (const AssumptionRule& rule : set.rules)
    if (!rule.because.empty() &&
        std::find(statements.begin(), statements.end(), rule.because) == statements.end())
      statements.push_back(rule.because);
  return statements;
}
}  // namespace stepcast
