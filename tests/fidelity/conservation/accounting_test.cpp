// Every moment of every worker has one owner.
#include <numeric>

#include "tests/fidelity/conservation/layout_kinds.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("categories of every worker sum to the step in every kind of layout",
          "[conservation][fidelity]") {
  for (const LayoutKind& kind : layout_kinds()) {
    Scenario scenario = job(kind.settings);
    scenario.run.fold = false;
    const Forecast f = forecast(scenario);
    INFO(kind.name);
    REQUIRE(f.outcome.step_s > 0);
    for (std::size_t worker = 0; worker < f.outcome.per_worker.size(); ++worker) {
      const Breakdown& parts = f.outcome.per_worker[worker];
      CHECK(std::accumulate(parts.begin(), parts.end(), 0.0) ==
            Approx(f.outcome.step_s).epsilon(1e-9));
      for (const double part : parts) CHECK(part >= -1e-12);
      CHECK(f.outcome.finish_s[worker] <= f.outcome.step_s * (1 + 1e-12));
    }
    // The critical worker is done when the step is.
    CHECK(f.outcome.finish_s[f.outcome.critical_worker] == Approx(f.outcome.step_s).epsilon(1e-12));
  }
}

TEST_CASE("a folded step is the unfolded one in every kind of layout", "[conservation][fidelity]") {
  for (const LayoutKind& kind : layout_kinds()) {
    const Forecast folded = forecast(kind.settings),
                   whole = forecast(kind.settings + Settings{"/run/fold=false"});
    INFO(kind.name);
    CHECK_FALSE(whole.is_folded);
    CHECK(folded.outcome.step_s == Approx(whole.outcome.step_s).epsilon(1e-9));
    for (std::size_t c = 0; c < kCategories; ++c)
      CHECK(std::abs(folded.outcome.breakdown[c] - whole.outcome.breakdown[c]) <=
            1e-9 * whole.outcome.step_s);
    for (std::size_t g = 0; g < kGroupKinds; ++g)
      CHECK(folded.outcome.payload_bytes[g] ==
            Approx(whole.outcome.payload_bytes[g]).epsilon(1e-9));
  }
}

TEST_CASE("the same scenario gives the same step to the last bit", "[conservation][fidelity]") {
  for (const LayoutKind& kind : layout_kinds()) {
    const Forecast first = forecast(kind.settings), second = forecast(kind.settings);
    INFO(kind.name);
    CHECK(first.outcome.step_s == second.outcome.step_s);
    CHECK(first.outcome.events == second.outcome.events);
    CHECK(first.outcome.per_worker == second.outcome.per_worker);
  }
}
