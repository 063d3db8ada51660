#include "calibrate/cli/measure_command.hpp"

/// In a build that only measures: the bundled profiles are fitted where the simulator is built.
namespace stepcast::calibrate {
void add_fit_tables_command(CLI::App& /*app*/, int& /*exit_code*/) {}
}  // namespace stepcast::calibrate
