#include <fmt/format.h>

#include <regex>

#include "sim/validate/table_format.hpp"
#include "sim/validate/training_scenario.hpp"

/// SimuMax step tables: the layout is spelled in the case name,
/// "llama3_70b_tp2_pp1_dp4_l12_mbc4_cef".
namespace stepcast {
namespace {

/// Reads the tokens of a case name into the columns of training_runs. Tokens in any order, parted
/// by "_":
///   tpN ppN dpN cpN epN etpN vpN   parallel sizes       lN    layers          mbsN    micro-batch
///   (1 when absent) mbcN                           micro-batch count    seqN  tokens per sample
///   (4096 when absent) cef                            cross-entropy fusion; other words belong to
///   the model's name
/// Returns a word that is neither, "" when all are understood.
std::string read_case(const std::string& name, const std::string& model, TableRow& row) {
  static const std::regex token("(tp|pp|dp|cp|ep|etp|vp|l|mbs|mbc|seq)(\\d+)");
  static const std::pair<const char*, const char*> columns[]{
      {"tp", "tp"},   {"pp", "pp"},          {"dp", "dp"},      {"cp", "cp"},
      {"ep", "ep"},   {"etp", "etp"},        {"vp", "vpp"},     {"l", "layers"},
      {"mbs", "mbs"}, {"mbc", "grad_accum"}, {"seq", "seq_len"}};
  std::string rest = name;
  std::string unknown;
  for (std::size_t start = 0; start <= rest.size();) {
    const std::size_t end = std::min(rest.find('_', start), rest.size());
    const std::string word = rest.substr(start, end - start);
    start = end + 1;
    std::smatch found;
    if (std::regex_match(word, found, token)) {
      for (const auto& [text, column] : columns)
        if (found[1] == text) row.overwrite(column, found[2]);
    } else if (word == "cef") {
      row.overwrite("loss_fusion", "cross_entropy");
    } else if (model.find(word) == std::string::npos) {
      unknown = word;
    }
  }
  return unknown;
}
}  // namespace

Questions read_simumax_steps(const CsvTable& table, const AssumptionBook& book) {
  const std::string name(text_of(TableFormat::simumax));
  const AssumptionSet& set = book.set_for(name);
  Questions questions;
  for (std::size_t index = 0; index < table.rows(); ++index) {
    TableRow row(table, index);
    const std::string id = row.text("case");
    const std::string unknown = read_case(id, row.text("model"), row);
    if (!unknown.empty()) {
      questions.skipped.push_back(
          {name, id, fmt::format("the case name holds an unknown word (\"{}\")", unknown)});
      continue;
    }
    row.fill("layers", row.text("layers"));
    row.overwrite("grad_accum", std::string(row.text("micro_batch_count")));
    std::int64_t gpus = 1;
    for (const char* axis : {"tp", "pp", "dp", "cp"}) gpus *= row.integer(axis).value_or(1);
    row.overwrite("n_accel", std::to_string(gpus));
    const AssumedRow assumed = assume(book, set, row);
    StepOrReason step = step_question(assumed, set);
    const auto ms = row.number("measured_step_ms");
    if (const auto* reason = std::get_if<std::string>(&step)) {
      questions.skipped.push_back({name, id, *reason});
      continue;
    }
    Question question{name,
                      fmt::format("{} line {}", table.file(), row.line()),
                      std::get<StepQuestion>(std::move(step)),
                      {}};
    if (ms && *ms > 0) question.measures.push_back({id, Metric::step_time, *ms / 1e3, 0});
    if (const auto gib = row.number("measured_peak_allocated_GiB"); gib && *gib > 0)
      question.measures.push_back({id, Metric::peak_memory, *gib * 1073741824.0, 0});
    const std::size_t before = questions.skipped.size();
    for (const char* column : {"measured_step_ms", "measured_peak_allocated_GiB"})
      if (const std::string& cell = row.text(column);
          !cell.empty() && row.number(column).value_or(0) <= 0)
        questions.skipped.push_back(
            {name, id, fmt::format("{} \"{}\" is no number above 0", column, cell)});
    if (question.measures.empty() && questions.skipped.size() == before)
      questions.skipped.push_back({name, id, "neither a step time nor a peak memory is given"});
    if (!question.measures.empty()) questions.list.push_back(std::move(question));
  }
  return questions;
}
}  // namespace stepcast
