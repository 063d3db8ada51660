#pragma once
#include <string>
#include <vector>

namespace stepcast {
/// Exit codes of every command.
enum ExitCode : int { kGood = 0, kOurFault = 1, kBadInput = 2, kEnvironment = 3 };

/// Runs one command line (without the program's name). Prints to stdout and stderr; never throws.
int run_command_line(const std::vector<std::string>& arguments);
}  // namespace stepcast
