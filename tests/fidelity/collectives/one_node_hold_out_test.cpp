#include <iostream>
#include <map>

#include "calibrate/tables/collective_tables.hpp"
#include "sim/collective/single_node_curve.hpp"
#include "tests/fidelity/collectives/errors.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
NodeSpec node_of(const CollectiveSources& sources) {
  NodeSpec node;
  node.in_switch_reduction = sources.in_switch_min_ranks > 0;
  return node;
}
double predicted(const CollectiveProfile& profile, const NodeSpec& node,
                 const CollectiveSample& sample) {
  return single_node_time(profile, node, sample.collective,
                          Bytes(static_cast<std::int64_t>(sample.bytes)), sample.ranks)
      .total.value;
}
/// Position of a size among the sizes of its (collective, ranks), to leave every second one aside.
std::map<std::tuple<Collective, int, double>, std::size_t> positions(
    const std::vector<CollectiveSample>& samples) {
  std::map<std::tuple<Collective, int, double>, std::size_t> order;
  for (const CollectiveSample& s : samples) order[{s.collective, s.ranks, s.bytes}] = 0;
  std::pair<Collective, int> group{};
  std::size_t index = 0;
  for (auto& [key, position] : order) {
    const std::pair<Collective, int> now{std::get<0>(key), std::get<1>(key)};
    if (now != group) index = 0;
    group = now;
    position = index++;
  }
  return order;
}
}  // namespace

TEST_CASE("every second size left aside is predicted within 5 percent at the median",
          "[fidelity][collective]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  ErrorSummary all;
  for (const char* gpu :
       {"a100-sxm4-80g", "h100-sxm5-80g", "h200-sxm5-141g", "b200-sxm", "gb200"}) {
    const CollectiveSources& sources = *sources_of(gpu);
    // Groups of 2 and 8 only, so that the other group sizes of the logs cannot help.
    const auto is_pair_or_eight = [](const CollectiveSample& s) {
      return s.ranks == 2 || s.ranks == 8;
    };
    const auto samples = collective_samples(sources, data, is_pair_or_eight);
    const auto order = positions(samples);
    const auto is_used = [&](const CollectiveSample& s) {
      const auto at = order.find({s.collective, s.ranks, s.bytes});
      return is_pair_or_eight(s) && (at == order.end() || at->second % 2 == 0);
    };
    const CollectiveProfile profile = fit_one_node_collectives(gpu, data, is_used);
    ErrorSummary errors;
    for (const CollectiveSample& sample : samples)
      if (!is_used(sample))
        errors.add(predicted(profile, node_of(sources), sample), sample.seconds);
    std::cout << gpu << " sizes left aside: " << errors.text() << '\n';
    all.errors.insert(all.errors.end(), errors.errors.begin(), errors.errors.end());
  }
  std::cout << "all sizes left aside: " << all.text() << '\n';
  REQUIRE(all.errors.size() > 200);
  CHECK(all.absolute(0.5) <= 0.05);
  CHECK(all.absolute(0.95) <= 0.25);  // protocol switches between two used sizes
  CHECK(std::fabs(all.bias()) <= 0.02);
}

TEST_CASE("four GPUs are predicted from two and eight within 8 percent at the median",
          "[fidelity][collective]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const CollectiveSources& sources = *sources_of("h100-sxm5-80g");
  const auto is_used = [](const CollectiveSample& s) { return s.ranks != 4; };
  const CollectiveProfile profile = fit_one_node_collectives(sources.gpu, data, is_used);
  ErrorSummary errors;
  for (const CollectiveSample& sample : collective_samples(sources, data, nullptr))
    if (sample.ranks == 4 && sample.collective != Collective::send_recv)
      errors.add(predicted(profile, node_of(sources), sample), sample.seconds);
  std::cout << "4 GPUs from 2 and 8: " << errors.text() << '\n';
  REQUIRE(errors.errors.size() > 100);
  CHECK(errors.absolute(0.5) <= 0.08);
  CHECK(errors.absolute(0.95) <= 0.15);
}
