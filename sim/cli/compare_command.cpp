#include <fmt/format.h>

#include <memory>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/io/json.hpp"
#include "sim/report/report.hpp"

namespace stepcast {
namespace {
struct CompareArguments {
  std::string a, b;
  bool is_json = false;
};

int run(const CompareArguments& arguments) {
  auto a = read_json_file(arguments.a);
  auto b = read_json_file(arguments.b);
  Problems problems;
  if (!a) problems.add(a.problems());
  if (!b) problems.add(b.problems());
  if (!problems.empty()) throw InputError(problems);
  const Json comparison = comparison_json(*a, *b, arguments.a, arguments.b);
  if (arguments.is_json)
    fmt::print("{}\n", comparison.dump(2));
  else
    fmt::print("{}", comparison_text(comparison));
  return kGood;
}
}  // namespace

void add_compare_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App& command =
      *app.add_subcommand("compare", "what differs between two report.json files, by category");
  command.add_option("a", arguments->a, "the report to start from")
      ->required()
      ->type_name("REPORT");
  command.add_option("b", arguments->b, "the report to compare with it")
      ->required()
      ->type_name("REPORT");
  command.add_flag("--json", arguments->is_json,
                   "print the comparison as one JSON document and nothing else");
  command.callback([arguments, &exit_code] { exit_code = run(*arguments); });
}
}  // namespace stepcast
