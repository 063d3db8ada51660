#pragma once
#include <CLI/CLI.hpp>

namespace stepcast {
/// stepcast import [KIND] FILE|FOLDER|ARCHIVE... : other people's measurements into a profile, a
/// timeline or a workload.
void add_import_command(CLI::App& app, int& exit_code);
/// stepcast replay WORKLOAD : as it was, then changed.
void add_replay_command(CLI::App& app, int& exit_code);
}  // namespace stepcast
