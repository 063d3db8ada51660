#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "sim/io/json.hpp"
#include "sim/validate/table_format.hpp"
#include "sim/validate/training_scenario.hpp"

/// dl_examples: lines of throughput tables as NVIDIA's example READMEs print them. `fields` is a
/// JSON object under the README's own headings, so that one line holds a rate per number format:
///
///   {"GPUs": "8", "Batch size / GPU: mixed precision, TF32": "32, 16", "Throughput - TF32":
///   "440.47",
///    "Throughput - mixed precision": "767.071", "Weak scaling - TF32": "7.18"}
///
/// Each rate becomes a question of its own; the batch is the one that stands at the rate's format.
namespace stepcast {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;  // heading in lower case, cell

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What a heading or a remark in a cell may call a number format.
struct FormatWord {
  const char *text, *precision;
};
constexpr std::array<FormatWord, 5> kFormatWords{{{"mixed precision", "fp16"},
                                                  {"amp", "fp16"},
                                                  {"fp16", "fp16"},
                                                  {"tf32", "tf32"},
                                                  {"fp32", "fp32"}}};

/// Formats in the order in which a text names them: "(TF32 and FP16)" -> tf32, fp16.
std::vector<std::string> precisions_in(const std::string& text) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const FormatWord& word : kFormatWords)
    if (const std::size_t at = text.find(word.text); at != std::string::npos)
      found.emplace_back(at, word.precision);
  std::sort(found.begin(), found.end());
  std::vector<std::string> precisions;
  for (auto& [at, precision] : found) precisions.push_back(std::move(precision));
  return precisions;
}

/// "2,880,000", "938 img/s", "64k": the number at the start; k is 1024 samples. 0 where there is
/// none.
double number_at_start(const std::string& text) {
  static const std::regex form("^\\s*~?([0-9][0-9,]*\\.?[0-9]*)(k?)");
  std::smatch found;
  if (!std::regex_search(text, found, form)) return 0;
  std::string digits = found[1];
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  return std::stod(digits) * (found[2].length() > 0 ? 1024 : 1);
}

/// The whole number that a cell states for a format, in one of three forms: "64" for all, "16 and
/// 32" in the order of the heading, "128 (FP32) / 256 (AMP)" with the format beside. 0 where it
/// states none.
std::int64_t count_for(const std::string& heading, const std::string& cell,
                       const std::string& precision) {
  static const std::regex separator("\\s*(?:,|/|\\band\\b)\\s*");
  const std::string text = lower(cell);
  std::vector<std::string> parts(
      std::sregex_token_iterator(text.begin(), text.end(), separator, -1), {});
  if (parts.size() == 1) return static_cast<std::int64_t>(number_at_start(text));
  std::vector<std::string> order = precisions_in(heading);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::vector<std::string> beside = precisions_in(parts[i]);
    const bool is_ours =
        !beside.empty() ? beside.front() == precision : i < order.size() && order[i] == precision;
    if (is_ours) return static_cast<std::int64_t>(number_at_start(parts[i]));
  }
  return 0;
}

/// The count under the first heading that holds all words; 0 where none does.
std::int64_t count_under(const Fields& fields, const std::vector<std::string>& words,
                         const std::string& precision) {
  for (const auto& [heading, cell] : fields)
    if (std::all_of(words.begin(), words.end(),
                    [&](const auto& word) { return has(heading, word); }))
      return count_for(heading, cell, precision);
  return 0;
}

struct Rate {
  std::string precision;
  double per_s = 0;
  bool counts_tokens = false;
};
std::vector<Rate> rates_of(const Fields& fields) {
  std::vector<Rate> rates;
  for (const auto& [heading, cell] : fields) {
    const bool is_rate = has(heading, "throughput") || heading == "fp32" || heading == "tf32";
    if (!is_rate || has(heading, "asp")) continue;  // pruned weights are another product
    const std::vector<std::string> precisions = precisions_in(heading);
    const double per_s = number_at_start(cell);
    if (precisions.size() == 1 && per_s > 0)
      rates.push_back({precisions.front(), per_s, has(heading, "tok/s")});
  }
  return rates;
}

/// "DGX-2 (16x V100 32GB)" and its like -> the words of training_runs. Nodes of 16 are DGX-2.
void put_machine(const std::string& system, TableRow& row) {
  static const std::regex memory("(16|32|40|80) ?G");
  std::smatch found;
  const std::string size = std::regex_search(system, found, memory) ? found[1].str() : "";
  const bool is_dgx2 = has(system, "DGX-2"), is_ampere = has(system, "A100");
  if (size.empty() || (!is_ampere && !has(system, "DGX-1") && !is_dgx2)) return;
  row.overwrite("accelerator", is_ampere ? fmt::format("A100-SXM4-{}GB", size)
                                         : fmt::format("V100-SXM{}-{}G", is_dgx2 ? 3 : 2, size));
  row.overwrite("accel_per_node", is_dgx2 ? "16" : "8");
}

void put_count(TableRow& row, const char* column, std::int64_t count) {
  if (count > 0) row.overwrite(column, std::to_string(count));
}

/// Micro-batch, accumulation and global batch. READMEs use "batch per GPU" for the micro-batch and
/// for the batch of a whole step: it is the latter where nothing else states that and it is a
/// multiple of the accumulation steps.
void put_batch(const Fields& fields, const Rate& rate, std::int64_t gpus, TableRow& row) {
  std::int64_t micro = count_under(fields, {"batch size / gpu"}, rate.precision);
  const std::int64_t steps =
      std::max<std::int64_t>(1, count_under(fields, {"accumulation"}, rate.precision));
  const bool is_stated = count_under(fields, {"accumulated batch"}, rate.precision) > 0 ||
                         count_under(fields, {"global batch"}, rate.precision) > 0;
  if (!is_stated && steps > 1 && micro > steps && micro % steps == 0) micro /= steps;
  put_count(row, "mbs", micro);
  put_count(row, "gbs", micro * steps * gpus);
}

Fields fields_of(const CsvTable& table, const TableRow& row) {
  const Json json = parse_json(row.text("fields"), table.file()).value_or_throw();
  Fields fields;
  if (!json.is_object())
    throw InputError(Problem{table.file(), fmt::format("line {}", row.line()),
                             "fields is not a JSON object", "headings and cells of one line"});
  for (const auto& [heading, cell] : json.items())
    fields.emplace_back(lower(heading), cell.is_string() ? cell.get<std::string>() : cell.dump());
  return fields;
}

/// A line and one of its rates in the columns of training_runs. What the README leaves out (images
/// per GPU) is for the assumptions to fill.
TableRow in_our_columns(TableRow row, const Fields& fields, const Rate& rate) {
  put_machine(row.text("system"), row);
  std::string model = row.text("model");
  for (const auto& [heading, cell] : fields)
    if (heading == "model" || heading == "model size") model += " " + cell;
  row.overwrite("model", model);
  row.overwrite("framework", model.substr(0, model.find('/')));
  row.overwrite("precision", rate.precision);
  const std::int64_t nodes =
      std::max<std::int64_t>(1, count_under(fields, {"nodes"}, rate.precision));
  std::int64_t gpus = 0;
  for (const auto& [heading, cell] : fields)
    if (heading == "gpus") gpus = count_for(heading, cell, rate.precision);
  if (gpus == 0) gpus = nodes * row.integer("accel_per_node").value_or(0);
  put_count(row, "n_accel", gpus);
  put_count(row, "seq_len", count_under(fields, {"sequence length"}, rate.precision));
  put_batch(fields, rate, gpus, row);
  row.overwrite(rate.counts_tokens ? "tokens_per_s" : "samples_per_s",
                fmt::format("{:.9g}", rate.per_s));
  return row;
}
}  // namespace

Questions read_dl_examples(const CsvTable& table, const AssumptionBook& book,
                           const ReadOptions& options) {
  const std::string name(text_of(TableFormat::dl_examples));
  Questions questions;
  if (!options.table.empty() && options.table != name) return questions;
  const AssumptionSet& set = book.set_for(name);
  for (std::size_t index = 0; index < table.rows(); ++index) {
    const TableRow line(table, index);
    const Fields fields = fields_of(table, line);
    const std::vector<Rate> rates = rates_of(fields);
    const std::string where = fmt::format("line {}: {}", line.line(), line.text("model"));
    if (rates.empty()) questions.skipped.push_back({name, where, "no throughput is printed"});
    for (const Rate& rate : rates) {
      TableRow row = in_our_columns(line, fields, rate);
      const std::string id =
          fmt::format("{} {} GPUs {}", where, row.text("n_accel"), rate.precision);
      // A batch that an assumption fills is the step's as well: nothing is accumulated unsaid.
      AssumedRow assumed = assume(book, set, row);
      if (const auto micro = assumed.row.integer("mbs"); assumed.row.text("gbs").empty() && micro)
        put_count(assumed.row, "gbs", *micro * assumed.row.integer("n_accel").value_or(0));
      add_step(name, id, assumed, set, questions);
    }
  }
  return questions;
}
}  // namespace stepcast
