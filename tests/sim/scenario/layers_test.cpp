#include "sim/scenario/layers.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
LayeredDocument two_layers() {
  LayeredDocument document("job.json");
  document.add_at_bottom({"models/gpt.json", "/model",
                          Json::parse(R"({"layers": 96, "heads": 96, "moe": {"experts": 8}})")});
  document.add_on_top({"job.json", "", Json::parse(R"({"model": {"layers": 48}})")});
  document.mark_setting("/cluster/nodes");
  return document;
}
std::string place_of(const std::string& pointer) {
  const Problem placed = two_layers().placed({"job.json", pointer, "x", ""});
  return placed.file + " " + placed.place;
}
}  // namespace

TEST_CASE("what a person wrote wins over the preset and the rest of the preset stays",
          "[scenario]") {
  CHECK(two_layers().merged() ==
        Json::parse(R"({"model": {"layers": 48, "heads": 96, "moe": {"experts": 8}}})"));
}

TEST_CASE("a problem is reported in the file whose text has to change", "[scenario]") {
  CHECK(place_of("/model/layers") ==
        "job.json /model/layers");  // written in both: the stronger layer
  CHECK(place_of("/model/heads") == "models/gpt.json /heads");  // only in the preset
  CHECK(place_of("/model/moe/experts") == "models/gpt.json /moe/experts");
  CHECK(place_of("/model/hidden") == "job.json /model/hidden");  // missing everywhere
  CHECK(place_of("/cluster/nodes") == "--set /cluster/nodes");
}
