#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

/// Commands of stepcast-calibrate; each callback leaves the exit code.
namespace stepcast::calibrate {
void add_probe_command(CLI::App& app, int& exit_code);
/// `arguments`: the whole command line, for ranks that are started as copies of this program.
void add_measure_command(CLI::App& app, const std::vector<std::string>& arguments, int& exit_code);
/// Absent in a build without the simulator.
void add_fit_tables_command(CLI::App& app, int& exit_code);
}  // namespace stepcast::calibrate
