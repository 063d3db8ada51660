#include "tests/golden/golden.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/test.hpp"

namespace stepcast::test {
void check_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(STEPCAST_GOLDEN_FOLDER) + "/" + name + ".txt";
  std::ifstream in(path);
  std::string head, body;
  for (std::string line; std::getline(in, line);)
    (body.empty() && line.starts_with("#") ? head : body) += line + "\n";
  in.close();
  if (std::getenv("STEPCAST_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << head << text;
    WARN("wrote " << path);
    return;
  }
  INFO("golden/" << name << ".txt");
  CHECK_FALSE(head.empty());
  CHECK(body == text);
}
}  // namespace stepcast::test
