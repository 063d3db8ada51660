#pragma once
#include <CLI/CLI.hpp>

namespace stepcast {
/// `stepcast validate MEASURED.csv`: predicted against measured, row by row.
void add_validate_command(CLI::App& app, int& exit_code);
}  // namespace stepcast
