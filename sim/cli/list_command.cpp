#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_argument.hpp"
#include "sim/core/result.hpp"
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {
struct Entry {
  std::string name, says;
};

/// Bundled files of a kind, each with its description, or else where its figures come from.
std::vector<Entry> bundled(const std::string& kind) {
  std::vector<Entry> entries;
  for (const std::string& name : preset_names(kind)) {
    Entry entry{name, ""};
    if (const auto content = read_json_file(preset_path(kind, name)); !content)
      entry.says = "UNREADABLE: " + content.problems().text();
    else if (content->is_object())
      for (const char* key : {"description", "source"})
        if (entry.says.empty() && content->contains(key) && (*content)[key].is_string())
          entry.says = (*content)[key].get<std::string>();
    entries.push_back(std::move(entry));
  }
  return entries;
}

const std::vector<Entry> kSchedules{
    {"gpipe", "all forwards, then all backwards; holds every micro-batch"},
    {"1f1b", "one forward, one backward; at most pp micro-batches in flight"},
    {"interleaved", "1f1b over virtual_stages chunks per rank: a smaller bubble for more messages"},
    {"zero-bubble", "ZB-H1: weight gradients are delayed into the bubble, memory as 1f1b"}};
const std::vector<Entry> kCollectives{
    {"all_reduce", "every rank ends with the sum; S is the buffer; busbw = algbw * 2(n-1)/n"},
    {"all_gather",
     "every rank ends with all parts; S is the gathered size; busbw = algbw * (n-1)/n"},
    {"reduce_scatter",
     "every rank ends with its part of the sum; S is the input size; busbw = algbw * (n-1)/n"},
    {"broadcast", "one rank's buffer to all; busbw = algbw"},
    {"all_to_all",
     "every rank sends a part to every other; S is one rank's buffer; busbw = algbw * (n-1)/n"},
    {"send_recv", "one rank to another; busbw = algbw"}};
const std::vector<Entry> kAlgorithms{
    {"auto", "as NCCL chooses, by size and group"},
    {"ring", "2(n-1) steps, every byte over every edge once each way"},
    {"tree", "double binary tree: fewer steps for small buffers"},
    {"hierarchical", "inside nodes first, then over the rails"},
    {"nvls", "reduction in the NVSwitch"},
    {"sharp", "reduction in the network's switches"},
    {"direct", "every pair exchanges its part"}};
const std::vector<Entry> kCompressors{
    {"none", "gradients as they are"},
    {"fp16", "cast to 16 bits"},
    {"bf16", "cast to 16 bits"},
    {"int8", "quantised to 8 bits with scales"},
    {"fp8", "quantised to 8 bits"},
    {"onebit", "signs with a scale"},
    {"topk", "the largest entries, a share `ratio`"},
    {"randomk", "random entries, a share `ratio`"},
    {"powersgd", "low-rank factors of `rank`"},
    {"dgc", "entries above a sampled threshold, a share `ratio`, after a warm-up"}};
const std::vector<Entry> kFormats{
    {"files", "one file per sample: each costs the storage's opening requests"},
    {"raw", "numbers one after another in large files, nothing to unpack"},
    {"tfrecord", "records with checksums in large files"},
    {"parquet", "compressed columns in row groups"}};
const std::vector<Entry> kContents{{"plain", "samples are used as they are stored"},
                                   {"tokens", "token numbers, widened to the framework's 8 bytes"},
                                   {"jpeg", "images decoded on the CPU"}};
const std::vector<Entry> kShuffles{
    {"none", "files are read front to back"},
    {"buffer", "files are read front to back, samples drawn from a buffer of `shuffle_buffer`"},
    {"random", "every sample is a request of its own"}};
const std::vector<Entry> kEngines{
    {"simgrid", "flow level on SimGrid, the reference"},
    {"native", "own event loop with incremental max-min sharing: the same answer, faster"},
    {"analytic", "closed forms without contention: a bound"}};

const std::vector<std::pair<std::string, std::function<std::vector<Entry>()>>>& kinds() {
  static const std::vector<std::pair<std::string, std::function<std::vector<Entry>()>>> all{
      {"models", [] { return bundled("models"); }},
      {"clusters", [] { return bundled("clusters"); }},
      {"profiles", [] { return bundled("profiles"); }},
      {"strategies", [] { return bundled("strategies"); }},
      {"storage", [] { return bundled("storage"); }},
      {"jobs", [] { return bundled("jobs"); }},
      {"schedules", [] { return kSchedules; }},
      {"collectives", [] { return kCollectives; }},
      {"algorithms", [] { return kAlgorithms; }},
      {"compressors", [] { return kCompressors; }},
      {"formats", [] { return kFormats; }},
      {"contents", [] { return kContents; }},
      {"shuffles", [] { return kShuffles; }},
      {"engines", [] { return kEngines; }}};
  return all;
}

int run(const std::string& kind, bool is_json) {
  std::vector<std::string> known;
  for (const auto& [name, entries_of] : kinds()) {
    known.push_back(name);
    if (name != kind) continue;
    const auto entries = entries_of();
    if (is_json) {
      Json list = Json::array();
      for (const Entry& e : entries) list.push_back({{"name", e.name}, {"says", e.says}});
      fmt::print("{}\n",
                 Json{{"stepcast", 1}, {"kind", "list"}, {"of", kind}, {"entries", list}}.dump(2));
      return kGood;
    }
    std::size_t width = 0;
    for (const Entry& e : entries) width = std::max(width, e.name.size());
    for (const Entry& e : entries) fmt::print("{:<{}}  {}\n", e.name, width, e.says);
    return kGood;
  }
  const std::string near = nearest_name(kind, known);
  throw InputError(Problem{"list", "", "\"" + kind + "\" is not one of " + joined(known),
                           near.empty() ? "" : "did you mean " + near + "?"});
}
}  // namespace

void add_list_command(CLI::App& app, int& exit_code) {
  auto kind = std::make_shared<std::string>();
  auto is_json = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand("list", "what a scenario can name");
  std::vector<std::string> names;
  for (const auto& [name, ignored] : kinds()) names.push_back(name);
  command.add_option("kind", *kind, joined(names, " | "))->required()->type_name("KIND");
  command.add_flag("--json", *is_json, "print the list as one JSON document and nothing else");
  command.callback([kind, is_json, &exit_code] { exit_code = run(*kind, *is_json); });
}
}  // namespace stepcast
