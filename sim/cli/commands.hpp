#pragma once
#include <CLI/CLI.hpp>

/// Each command adds its subcommand; its callback leaves the exit code. Problems leave it as
/// exceptions: InputError, EnvironmentError, InternalError.
namespace stepcast {
void add_simulate_command(CLI::App& app, int& exit_code);
void add_sweep_command(CLI::App& app, int& exit_code);
void add_stragglers_command(CLI::App& app, int& exit_code);  // stragglers, fit-stragglers
void add_check_command(CLI::App& app, int& exit_code);
void add_list_command(CLI::App& app, int& exit_code);
void add_converge_command(CLI::App& app, int& exit_code);
void add_compare_command(CLI::App& app, int& exit_code);
void add_calibrate_command(CLI::App& app, int& exit_code);
void add_export_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app, int& exit_code);
}  // namespace stepcast
