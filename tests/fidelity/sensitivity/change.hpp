#pragma once
#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

/// One input changed: what it does to the step, or to one category of it, as a ratio with bounds.
namespace stepcast::test {

struct Change {
  std::string what;
  Settings before, change;
  double low, high;                           // of after / before; the reason stands above each row
  std::optional<Category> of = std::nullopt;  // of the whole step when left out
};

inline double measured(const Forecast& f, const std::optional<Category>& of) {
  return of ? seconds_of(f, *of) : f.outcome.step_s;
}

inline void require_effects(const std::vector<Change>& changes) {
  for (const Change& c : changes) {
    const double before = measured(forecast(c.before), c.of),
                 after = measured(forecast(c.before + c.change), c.of);
    INFO(c.what << ": " << before * 1e3 << " ms becomes " << after * 1e3 << " ms");
    CHECK(before > 0);
    CHECK(after / before >= c.low);
    CHECK(after / before <= c.high);
  }
}

/// The gradient exchange is most of the step: one micro-batch, and 8 x 2.5 GB/s per node in place
/// of 8 x 50 GB/s.
inline const Settings kCommunicationBound{"/training/global_batch=16", "/cluster/nic_Gbps=20"};
}  // namespace stepcast::test
