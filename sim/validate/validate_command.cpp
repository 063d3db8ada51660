#include "sim/validate/validate_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/validate/engine_predictor.hpp"
#include "sim/validate/table_format.hpp"
#include "sim/validate/validation_report.hpp"

namespace stepcast {
namespace {
struct ValidateArguments {
  std::vector<std::string> files;
  std::string table, profile, engine = "native", runs, show, assumptions;
  int jobs = 1, worst = 5;
  bool is_json = false, is_markdown = false;
};

void show_progress(std::size_t done, std::size_t total) {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r{}/{}  {} %", done, total, 100 * done / total);
  if (done == total) fmt::print(stderr, "\n");
}

EngineKind engine_of(const std::string& text) {
  if (const auto kind = enum_from_text<EngineKind>(text)) return *kind;
  throw InputError(Problem{"--engine", "", "\"" + text + "\" is not an engine",
                           "try " + joined(enum_texts<EngineKind>())});
}

/// The scenario behind one row: what `stepcast simulate` would be given.
int show_row(const Questions& questions, const std::string& id) {
  std::vector<std::string> known;
  for (const Question& question : questions.list)
    for (const Measure& measure : question.measures) {
      known.push_back(measure.id);
      if (measure.id != id) continue;
      if (const auto* step = std::get_if<StepQuestion>(&question.what))
        fmt::print("{}\n", step->scenario);
      else if (const auto* sweep = std::get_if<CollectiveQuestion>(&question.what))
        fmt::print("{}\n", sweep->scenario);
      else
        throw InputError(
            Problem{"--show", "", "\"" + id + "\" is a kernel: it has no scenario", ""});
      return 0;
    }
  for (const SkippedRow& row : questions.skipped)
    if (row.id == id)
      throw InputError(Problem{"--show", "", "\"" + id + "\" is left out: " + row.reason, ""});
  const std::string near = nearest_name(id, known);
  throw InputError(Problem{"--show", "", "no row is called \"" + id + "\"",
                           near.empty() ? "" : "did you mean \"" + near + "\"?"});
}

int run(const ValidateArguments& a) {
  const std::string folder =
      a.assumptions.empty() ? scenarios_folder() + "/validation" : a.assumptions;
  const AssumptionBook book = read_assumptions(folder).value_or_throw();
  const EngineKind engine = engine_of(a.engine);
  Questions questions;
  for (const std::string& file : a.files) {
    const CsvTable table = CsvTable::read(file).value_or_throw();
    Questions more =
        read_questions(table, book, {.table = a.table, .profile = a.profile, .runs = a.runs});
    std::move(more.list.begin(), more.list.end(), std::back_inserter(questions.list));
    std::move(more.skipped.begin(), more.skipped.end(), std::back_inserter(questions.skipped));
  }
  if (questions.list.empty() && questions.skipped.empty())
    throw InputError(Problem{
        joined(a.files), "",
        a.table.empty() ? "holds no row" : "holds no row of table \"" + a.table + "\"", ""});
  if (!a.show.empty()) return show_row(questions, a.show);
  const auto predictor = make_engine_predictor(engine, a.profile);
  const Scores scores =
      score_answers(questions, answer_all(*predictor, questions.list, a.jobs, show_progress));
  if (a.is_json)
    fmt::print("{}\n", validation_json(scores, book, joined(a.files)).dump(2));
  else if (a.is_markdown)
    fmt::print("{}", validation_markdown(scores, book, a.worst));
  else
    fmt::print("{}", validation_text(scores, book, joined(a.files), a.worst));
  return 0;
}
}  // namespace

void add_validate_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ValidateArguments>();
  ValidateArguments& a = *arguments;
  CLI::App& command = *app.add_subcommand(
      "validate", "predict every row of a table of measurements and score the errors");
  command
      .add_option("measured", a.files,
                  "CSV tables (.gz too), known by their columns: training_runs, vtrain, simumax, "
                  "nccl_points, "
                  "nccl_one_node, gemm, attention_forward, mlperf, dl_examples")
      ->required()
      ->type_name("FILE");
  command.add_option("--table", a.table, "only rows whose \"table\" column says so [all]")
      ->type_name("NAME");
  command
      .add_option("--profile", a.profile,
                  "cost profile, name or path [the GPU's bundled one; for kernel and one-node "
                  "tables the folder's name]")
      ->type_name("P");
  command.add_option("--engine", a.engine, "native, simgrid or analytic")
      ->capture_default_str()
      ->type_name("E");
  command
      .add_option("--runs", a.runs,
                  "nccl_runs table that describes the sweeps of nccl_points [beside it]")
      ->type_name("FILE");
  command
      .add_option("--assumptions", a.assumptions,
                  "folder with one file of assumptions per table [scenarios/validation]")
      ->type_name("DIR");
  command
      .add_option("--show", a.show, "print the scenario of one row instead, for stepcast simulate")
      ->type_name("ROW");
  command.add_option("--worst", a.worst, "worst rows to list per table")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("-j,--jobs", a.jobs, "worker processes")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag(
      "--json", a.is_json,
      "print one JSON document: rows, mape, median_error, bias, p95_error, rank_correlation, "
      "coverage_90, skipped, assumptions; times in s, memory in bytes, errors as fractions");
  command
      .add_flag("--markdown", a.is_markdown,
                "print the summary as a Markdown document, with the bars each table is held to")
      ->excludes("--json");
  command.callback([arguments, &exit_code] { exit_code = run(*arguments); });
}
}  // namespace stepcast
