#include <string>
#include <vector>

#include "sim/cli/cli.hpp"
#include "sim/io/unfinished_file.hpp"

int main(int argc, char** argv) {
  stepcast::remove_unfinished_on_signals();
  return stepcast::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
}
