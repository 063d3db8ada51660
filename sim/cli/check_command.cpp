#include <fmt/format.h>

#include <memory>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_argument.hpp"
#include "sim/io/json.hpp"

namespace stepcast {
namespace {
struct CheckArguments {
  ScenarioArguments what;
  bool is_json = false;
};

Json problems_json(const Problems& problems) {
  Json list = Json::array();
  for (const Problem& p : problems.list())
    list.push_back(
        {{"file", p.file}, {"place", p.place}, {"message", p.message}, {"hint", p.hint}});
  return list;
}

int run(const CheckArguments& a) {
  try {
    const Prepared p = prepared(a.what);
    const Scenario& s = p.scenario;
    if (a.is_json) {
      fmt::print("{}\n", Json{{"stepcast", 1},
                              {"kind", "check"},
                              {"file", s.file},
                              {"good", true},
                              {"problems", Json::array()},
                              {"notes", s.notes}}
                             .dump(2));
      return kGood;
    }
    if (s.collective_sweep)
      fmt::print("{}: good; {} at {} sizes on {} nodes of {}, profile {}\n", s.file,
                 text_of(s.collective_sweep->collective), s.collective_sweep->sizes.size(),
                 s.cluster.nodes(), s.cluster.name, p.profile.name);
    else
      fmt::print(
          "{}: good; {} on {} GPUs of {} as tp {} x pp {} x dp {} x cp {} (ep {}), {} "
          "micro-batches of {}, profile {}\n",
          s.file, s.model.name, s.parallel.world(), s.cluster.name, s.parallel.tp, s.parallel.pp,
          s.parallel.dp, s.parallel.cp, s.parallel.ep, micro_batch_count(s.parallel, s.training),
          s.training.micro_batch, p.profile.name);
    for (const std::string& note : s.notes) fmt::print("  default: {}\n", note);
    return kGood;
  } catch (const InputError& e) {
    if (!a.is_json) throw;
    fmt::print("{}\n", Json{{"stepcast", 1},
                            {"kind", "check"},
                            {"file", a.what.scenario},
                            {"good", false},
                            {"problems", problems_json(e.problems)},
                            {"notes", Json::array()}}
                           .dump(2));
    return kBadInput;
  }
}
}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App& command =
      *app.add_subcommand("check", "read a scenario and list every problem at once");
  arguments->what.add_to(command);
  command.add_flag("--json", arguments->is_json,
                   "print the findings as one JSON document and nothing else");
  command.callback([arguments, &exit_code] { exit_code = run(*arguments); });
}
}  // namespace stepcast
