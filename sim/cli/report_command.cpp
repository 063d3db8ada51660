#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/report_points.hpp"
#include "sim/io/files.hpp"

namespace stepcast {
namespace {
struct ReportArguments {
  std::string kind, output, engine = "native";
  ReportRequest request;
};

using Maker = Page (*)(const ReportRequest&);
const std::vector<std::pair<std::string, Maker>>& reports() {
  static const std::vector<std::pair<std::string, Maker>> all{{"scaling", scaling_report},
                                                              {"stragglers", stragglers_report},
                                                              {"compression", compression_report},
                                                              {"strategies", strategies_report}};
  return all;
}
std::vector<std::string> report_names() {
  std::vector<std::string> names;
  for (const auto& [name, ignored] : reports()) names.push_back(name);
  return names;
}

int run(ReportArguments& a) {
  Maker maker = nullptr;
  for (const auto& [name, page_of] : reports())
    if (name == a.kind) maker = page_of;
  if (maker == nullptr) {
    const std::string near = nearest_name(a.kind, report_names());
    throw InputError(Problem{"report", "",
                             "\"" + a.kind + "\" is not one of " + joined(report_names()),
                             near.empty() ? "" : "did you mean " + near + "?"});
  }
  if (!a.output.ends_with(".html"))
    throw InputError(Problem{a.output, "", "a report is one HTML page", "end the name in .html"});
  if (!a.request.nodes.empty() && a.kind != "scaling")
    throw InputError(Problem{"--nodes", "", "only the scaling report varies the nodes",
                             "use --set /cluster/nodes=N"});
  a.request.engine = engine_from_text(a.engine);
  if (a.request.jobs == 0)
    a.request.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Page page = maker(a.request);
  write_file(a.output, html_of(page));
  fmt::print("{}\nwritten         {}\n", page.headline, a.output);
  return kGood;
}
}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<ReportArguments>();
  a->request.jobs = 0;
  CLI::App& command = *app.add_subcommand(
      "report", "a trade-off as one HTML page: the answer, charts, tables and how to repeat it");
  command.add_option("kind", a->kind, joined(report_names(), " | "))->required()->type_name("KIND");
  a->request.what.add_to(command);
  add_engine_option(command, a->engine);
  command.add_option("-o,--output", a->output, "the page, one .html file")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--nodes", a->request.nodes,
                  "scaling: cluster sizes [doubled up to four times the scenario's]")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N,N,...");
  command
      .add_option("-j,--jobs", a->request.jobs,
                  "simulations at a time, each in its own process [one per core]")
      ->check(CLI::Range(0, 4096))
      ->type_name("N");
  command.callback([a, &exit_code] { exit_code = run(*a); });
}
}  // namespace stepcast
