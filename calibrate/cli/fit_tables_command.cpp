#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "calibrate/cli/measure_command.hpp"
#include "calibrate/tables/collective_tables.hpp"
#include "calibrate/tables/fit_profile.hpp"
#include "sim/io/files.hpp"
#include "sim/profile/text_of_profile.hpp"

namespace {
using namespace stepcast;

int fit_tables(const std::string& data, const std::string& out,
               const std::vector<std::string>& wanted) {
  TableSet tables = TableSet::open(data).value_or_throw();
  std::vector<std::string> known;
  for (const ProfileTarget& target : profile_targets()) known.push_back(target.name);
  Problems problems;
  for (const std::string& name : wanted)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string near = nearest_name(name, known);
      problems.add({"command line", "--gpu", "\"" + name + "\" is not one of " + joined(known),
                    near.empty() ? "" : "did you mean \"" + near + "\"?"});
    }
  if (!problems.empty()) throw InputError(problems);
  for (const ProfileTarget& target : profile_targets()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), target.name) == wanted.end())
      continue;
    Profile profile = fit_profile(tables, target);
    profile.collectives = fit_collectives(target.name, data);
    const std::string path = out + "/" + target.name + ".profile.json",
                      text = text_of_profile(profile);
    write_file(path, text);
    fmt::print("{:<16} {:>5} kB  ", target.name, text.size() / 1000);
    for (const KernelFamily& family : profile.kernels.families)
      fmt::print(" {} {:.1f} %,", family.name, 100 * family.hold_out_error);
    fmt::print("\n");
    std::fflush(stdout);
  }
  return 0;
}
}  // namespace

namespace stepcast::calibrate {
void add_fit_tables_command(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::string data, out = ".";
    std::vector<std::string> gpus;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* fit = app.add_subcommand(
      "fit-tables",
      "Fit the bundled profiles from public measurement tables (MIT and Apache-2.0 files only)");
  fit->add_option("--data", a->data, "folder with kernels/, collectives/ and measured/")
      ->required();
  fit->add_option("-o,--output", a->out,
                  "folder for <gpu>.profile.json (default: the current one)");
  fit->add_option("--gpu", a->gpus, "only this profile; may be given several times (default: all)");
  fit->callback([a, &exit_code] { exit_code = fit_tables(a->data, a->out, a->gpus); });
}
}  // namespace stepcast::calibrate
