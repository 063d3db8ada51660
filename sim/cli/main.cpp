#include <string>
#include <vector>

#include "sim/cli/cli.hpp"

int main(int argc, char** argv) {
  return stepcast::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
}
