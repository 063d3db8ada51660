#include "sim/io/json.hpp"
#include "tests/sim/cli/run_binary.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::test;
using stepcast::Json;

TEST_CASE("an exported manifest is found by its content and simulates as the scenario does",
          "[cli]") {
  const Folder folder;
  const std::string scenario = folder.write("s.json", kSmallScenario);
  const Finished written = run_stepcast({"export", "k8s", scenario, "-o", folder.path("job.yaml")});
  INFO(written.err);
  REQUIRE(written.exit_code == 0);
  CHECK(written.err.find("warning: --image") != std::string::npos);
  const Finished read =
      run_stepcast({"import", folder.path("job.yaml"), "-o", folder.path("back.scenario.json")});
  INFO(read.err);
  REQUIRE(read.exit_code == 0);
  const auto step = [](const std::string& file) {
    const Finished f = run_stepcast({"simulate", file, "--engine", "native", "--json"});
    INFO(f.err);
    REQUIRE(f.exit_code == 0);
    return Json::parse(f.out)["step_time_s"]["p50"].get<double>();
  };
  CHECK(step(folder.path("back.scenario.json")) == Approx(step(scenario)).epsilon(1e-9));
}

TEST_CASE("targets and reports and kinds that are mistyped get the nearest name", "[cli]") {
  const Folder folder;
  const std::string scenario = folder.write("s.json", kSmallScenario);
  const auto refused = [](const std::vector<std::string>& words, const std::string& part) {
    const Finished f = run_stepcast(words);
    INFO(f.err);
    CHECK(f.exit_code == 2);
    CHECK(f.err.find(part) != std::string::npos);
  };
  refused({"export", "torchrn", scenario}, "did you mean torchrun?");
  refused({"report", "scalling", scenario, "-o", folder.path("a.html")}, "did you mean scaling?");
  refused({"report", "scaling", scenario, "-o", folder.path("a.pdf")}, "end the name in .html");
  refused({"report", "compression", scenario, "--nodes", "1,2", "-o", folder.path("a.html")},
          "only the scaling report");
  refused({"export", "slurm", scenario, "--image", "x"}, "--image: has no effect");
  refused({"export", "megatron", scenario, "--script", "x.py"}, "--script: has no effect");
  refused({"export", "slurm", scenario, "-o", scenario}, "is the scenario that is exported");
  refused({"import", folder.write("m.yaml", "apiVersion: v1\nkind: A\n"), "--ranks", "2"},
          "have no effect on a Kubernetes manifest");
  refused({"import", "k8", folder.write("j.yaml", "kind: A\n")}, "did you mean k8s?");
}

TEST_CASE("export as JSON holds the file and its warnings and nothing else stands there", "[cli]") {
  const Folder folder;
  const Finished f =
      run_stepcast({"export", "megatron", folder.write("s.json", kSmallScenario), "--json"});
  REQUIRE(f.exit_code == 0);
  const Json document = Json::parse(f.out);
  CHECK(document["target"] == "megatron");
  CHECK(document["text"].get<std::string>().find("--num-layers 12") != std::string::npos);
  CHECK(f.err.empty());
}

TEST_CASE("every report is one page with the same bytes each time", "[cli]") {
  const Folder folder;
  // A pure data-parallel job, so that every report has points: 2 nodes of 8.
  const std::string scenario = folder.write("s.json", R"({ "stepcast": 1,
    "name": "<i>small</i>",
    "model": { "preset": "gpt3-125m" },
    "training": { "global_batch": 64, "micro_batch": 1, "sequence_length": 1024 },
    "strategy": { "preset": "pytorch-ddp" },
    "cluster": { "preset": "dgx-a100-ib200", "nodes": 2 } })");
  for (const char* kind : {"scaling", "stragglers", "compression", "strategies"}) {
    INFO(kind);
    const auto page = [&](const std::string& name, const char* jobs) {
      const Finished f =
          run_stepcast({"report", kind, scenario, "-j", jobs, "-o", folder.path(name)}, "", 300);
      INFO(f.err);
      REQUIRE(f.exit_code == 0);
      CHECK(lines_of(f.out).size() == 2);  // the answer, and what was written
      return content_of(folder.path(name));
    };
    const std::string html = page("a.html", "1");
    CHECK(html == page("b.html", "2"));
    CHECK(html.find("<i>small") == std::string::npos);
    CHECK(html.find("&lt;i&gt;small") != std::string::npos);
    CHECK(html.find("stepcast report " + std::string(kind)) != std::string::npos);
    CHECK(html.find("<svg") != std::string::npos);
    CHECK(html.find(">nan") == std::string::npos);
  }
}
