#include "cmake/stand_in/CLI11/CLI/CLI.hpp"

#include "tests/support/test.hpp"

namespace {
/// A command line as measure_command.cpp declares its own.
struct Program {
  std::vector<std::string> suites{"quick"};
  std::string output = "p.json";
  int ranks = 0;
  double limit_s = 120;
  bool is_json = false, has_run = false;

  void parse(std::vector<std::string> words) {
    CLI::App app{"measures"};
    app.require_subcommand(1);
    CLI::App& command = *app.add_subcommand("measure", "runs");
    command.add_option("--suite", suites, "which")->capture_default_str()->type_name("NAME");
    command.add_option("-o,--output", output, "where")->capture_default_str();
    command.add_option("--ranks", ranks, "how many")->check(CLI::Range(1, 4096))->type_name("N");
    command.add_option("--time-limit", limit_s, "seconds")->check(CLI::Range(1.0, 86400.0));
    command.add_flag("--json", is_json, "as data");
    command.add_option("--model", output, "a step")
        ->excludes(command.add_option("--scenario", output, "another"));
    command.callback([this] { has_run = true; });
    words.insert(words.begin(), "/usr/bin/program");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    app.parse(static_cast<int>(pointers.size()), pointers.data());
  }
};
}  // namespace

TEST_CASE("options replace defaults and repeat and take values behind a space or an equals sign",
          "[stand_in]") {
  Program p;
  p.parse(
      {"measure", "--suite", "step", "--suite", "io", "kernels", "--ranks=3", "-o", "x", "--json"});
  REQUIRE(p.has_run);
  REQUIRE(p.suites == std::vector<std::string>{"step", "io", "kernels"});
  REQUIRE(p.ranks == 3);
  REQUIRE(p.output == "x");
  REQUIRE(p.is_json);
  REQUIRE(p.limit_s == 120);
}

TEST_CASE("what is unknown or missing or out of range or no number is an error", "[stand_in]") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"measur"},
                                                {"measure", "--rank", "2"},
                                                {"measure", "--ranks"},
                                                {"measure", "--ranks", "0"},
                                                {"measure", "--ranks", "two"},
                                                {"measure", "--ranks", "1.5"},
                                                {"measure", "--time-limit", "1s"},
                                                {"measure", "extra"},
                                                {"measure", "--model", "a", "--scenario", "b"}}) {
    Program p;
    try {
      p.parse(words);
      FAIL("accepted " << (words.empty() ? "nothing" : words.back()));
    } catch (const CLI::ParseError& error) {
      REQUIRE(error.exit_code() != 0);
    }
    REQUIRE_FALSE(p.has_run);
  }
}

TEST_CASE("help is not an error and names options with their defaults", "[stand_in]") {
  Program p;
  try {
    p.parse({"measure", "--help"});
    FAIL("no help");
  } catch (const CLI::ParseError& error) {
    REQUIRE(error.exit_code() == 0);
    REQUIRE_THAT(error.what(), Catch::Contains("--suite NAME") && Catch::Contains("[quick]"));
  }
}
