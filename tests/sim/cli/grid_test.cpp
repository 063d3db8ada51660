#include "sim/cli/grid.hpp"

#include "sim/cli/progress.hpp"
#include "sim/core/result.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using Texts = std::vector<std::string>;

TEST_CASE("values of a variation are a list or a range or powers", "[cli]") {
  CHECK(variation_of("/cluster/nodes=1,2,4").values == Texts{"1", "2", "4"});
  CHECK(variation_of("/cluster/nodes=3..6").values == Texts{"3", "4", "5", "6"});
  CHECK(variation_of("/cluster/nodes=1..1024*4").values ==
        Texts{"1", "4", "16", "64", "256", "1024"});
  CHECK(variation_of("/parallel/schedule=gpipe,1f1b").values == Texts{"gpipe", "1f1b"});
  CHECK(variation_of("/profile=../a.profile.json").values == Texts{"../a.profile.json"});
}

TEST_CASE("commas inside brackets belong to the value", "[cli]") {
  CHECK(variation_of(R"(/stragglers=[],[{"ranks":"0,1","compute_slowdown":2}])").values ==
        Texts{"[]", R"([{"ranks":"0,1","compute_slowdown":2}])"});
}

TEST_CASE("a variation that is none is refused", "[cli]") {
  for (const char* text : {"nodes=1", "/cluster/nodes", "/cluster/nodes=", "/a=1,,2", "/a=8..1",
                           "/a=1..8*1", "/a=0..8*2"}) {
    INFO(text);
    CHECK_THROWS_AS(variation_of(text), InputError);
  }
}

TEST_CASE("the grid is the product with the last variation fastest", "[cli]") {
  const std::vector<Variation> variations{{"/a", {"1", "2"}}, {"/b", {"x", "y", "z"}}};
  const auto grid = grid_of(variations);
  REQUIRE(grid.size() == 6);
  CHECK(grid[1] == GridPoint{"1", "y"});
  CHECK(grid[3] == GridPoint{"2", "x"});
  CHECK(settings_of(variations, grid[5]) == Texts{"/a=2", "/b=z"});
}

TEST_CASE("a grid beyond a million points is refused", "[cli]") {
  CHECK_THROWS_AS(grid_of({variation_of("/a=1..1000"), variation_of("/b=1..1001")}), InputError);
}

TEST_CASE("time left is the pace of this run times what is open", "[cli]") {
  // 4 done before, 2 in 10 s now: 5 s each, 4 open: 20 s
  CHECK(Progress::line(10, 4, 2, 10) == "6/10  60 %  elapsed 0:10  left 0:20");
  CHECK(Progress::line(10, 4, 0, 0) == "4/10  40 %  elapsed 0:00");
  CHECK(Progress::line(10, 4, 6, 3700) == "10/10  100 %  elapsed 1:01:40");
}
