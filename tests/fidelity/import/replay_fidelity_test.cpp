#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "sim/core/robust_stats.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/import/straggler/straggler_table.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
struct Errors { double median_abs = 0, worst = 0, bias = 0; };
Errors errors_of(const Workload& w, const ReplayResult& r) {
  std::vector<double> errors, absolute;
  for (std::size_t s = 0; s < w.steps.size(); ++s)
    if (w.steps[s].measured_s > 0 && r.step_s[s] > 0) errors.push_back(r.step_s[s] / w.steps[s].measured_s - 1);
  for (const double e : errors) absolute.push_back(std::abs(e));
  REQUIRE_FALSE(errors.empty());
  return {median(absolute), *std::max_element(absolute.begin(), absolute.end()), mean(errors)};
}
}  // namespace

TEST_CASE("the whole traced job replays within 1 per cent of its measured steps", "[fidelity][replay]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  Anomalies anomalies;
  const Workload w = straggler::read_table(data + "/traces/StragglerAnalysis/trace-ST.csv.gz", anomalies);
  REQUIRE(w.ranks.size() == 8);
  REQUIRE(w.steps.size() == 32);
  REQUIRE(workload_fault(w).empty());
  const ReplayResult as_was = replay(w);
  const Errors e = errors_of(w, as_was);
  std::cout << fmt::format("ST as it was: median {:.3f} %, worst {:.3f} %, bias {:.3f} %\n", 100 * e.median_abs, 100 * e.worst, 100 * e.bias);
  const double no_delay = mean(replay(w, {.keep_delays = false}).step_s);
  std::cout << fmt::format("ST without launch gaps: {:.4f} s (published 2.1727)\n", no_delay);
  REQUIRE(e.median_abs <= 0.01);
  REQUIRE(e.worst <= 0.02);
  REQUIRE(no_delay == Approx(2.1727).epsilon(0.01));
}
