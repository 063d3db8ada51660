#include <cmath>

#include "calibrate/tables/collective_tables.hpp"
#include "calibrate/tables/fit_profile.hpp"
#include "sim/cost/cost_model.hpp"
#include "sim/io/files.hpp"
#include "sim/profile/text_of_profile.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
std::string bundled(const std::string& name) {
  return test::source_dir() + "/scenarios/profiles/" + name + ".profile.json";
}

Op op_of(decltype(Op::shape) shape, Pass pass = Pass::forward,
         Precision precision = Precision::bf16) {
  Op op;
  op.shape = shape;
  op.pass = pass;
  op.precision = precision;
  return op;
}
double tflops(const CostModel& model, const Op& op, double flops) {
  return flops / model.cost(op).duration.value / 1e12;
}
}  // namespace

TEST_CASE("every bundled profile reads and costs every kind of op", "[fidelity][kernels]") {
  for (const ProfileTarget& target : profile_targets()) {
    INFO(target.name);
    const Profile profile = read_profile(bundled(target.name)).value_or_throw();
    REQUIRE(profile.name == target.name);
    REQUIRE(text_of_profile(profile).size() < 1000000);
    CostOptions options;
    for (const auto& [framework, fit] : profile.kernels.host) {
      options.framework = framework;
      const CostModel model(profile, profile.gpu, options);
      for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight})
        for (const Precision precision :
             {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8}) {
          std::vector<Op> ops{
              op_of(GemmShape{2048, 12288, 4096, 1, false}, pass, precision),
              op_of(GemmShape{128, 2048, 4096, 8, true}, pass, precision),
              op_of(GemmShape{1024, 1024, 64, 32, false}, pass, precision),
              op_of(
                  AttentionShape{1, 16, 4, 2048, 2048, 128, 128, true, pass == Pass::backward_data},
                  pass, precision),
              op_of(AttentionShape{1, 16, 16, 2048, 2048, 192, 128, false, false}, pass, precision),
              op_of(ConvShape{64, 128, 28, 28, 128, 3, 1, 1}, pass, precision)};
          for (const StreamKind kind :
               {StreamKind::elementwise, StreamKind::norm, StreamKind::softmax, StreamKind::loss,
                StreamKind::embedding, StreamKind::optimizer, StreamKind::reduction,
                StreamKind::copy, StreamKind::batch_norm})
            ops.push_back(
                op_of(StreamShape{kind, Bytes(50000000), Bytes(50000000)}, pass, precision));
          for (const Op& op : ops) {
            const OpCost cost = model.cost(op);
            REQUIRE(std::isfinite(cost.duration.value));
            REQUIRE(cost.duration >= model.roofline(op));
            REQUIRE(cost.duration.value <
                    0.2);  // the largest of them takes a tenth of this on the slowest part
            REQUIRE(cost.relative_sigma > 0);
            REQUIRE((!cost.is_extrapolated || !cost.nearest_measured.empty()));
          }
        }
    }
  }
}

TEST_CASE("large GEMMs of a training step run at the published in-model rates",
          "[fidelity][kernels]") {
  // Median over large shapes inside a model or a long loop: A100 226, H100 696, B200 1110 TFLOP/s.
  const double m = 4096, n = 12288, k = 8192;
  for (const auto& [name, expected] :
       {std::pair{"a100-sxm4-80g", 226.0}, std::pair{"h100-sxm5-80g", 696.0},
        std::pair{"b200-sxm", 1110.0}}) {
    const Profile profile = read_profile(bundled(name)).value_or_throw();
    const CostModel model(profile, profile.gpu, {});
    INFO(name);
    REQUIRE(tflops(model, op_of(GemmShape{4096, 12288, 8192, 1, false}), 2 * m * n * k) ==
            Approx(expected).epsilon(0.12));
  }
}

TEST_CASE("shapes outside the public tables are flagged", "[fidelity][kernels]") {
  const Profile profile = read_profile(bundled("h100-sxm5-80g")).value_or_throw();
  const CostModel model(profile, profile.gpu, {});
  REQUIRE_FALSE(model.cost(op_of(GemmShape{4096, 4096, 4096, 1, false})).is_extrapolated);
  REQUIRE(model.cost(op_of(GemmShape{4096, 4096, 8, 1, false})).is_extrapolated);
  REQUIRE(model.cost(op_of(GemmShape{4096, 250000, 4096, 1, false})).is_extrapolated);
  REQUIRE(model.cost(op_of(AttentionShape{1, 32, 8, 1 << 20, 1 << 20, 128, 128, true, false}))
              .is_extrapolated);
}

TEST_CASE("the fit command's parts reproduce a bundled profile byte for byte",
          "[fidelity][kernels]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  TableSet tables = TableSet::open(data).value_or_throw();
  for (const ProfileTarget& target : profile_targets()) {
    if (target.name != "a100-sxm4-80g") continue;
    Profile profile = fit_profile(tables, target);
    profile.collectives = fit_collectives(target.name, data);
    const auto shipped = read_file(bundled(target.name));
    REQUIRE(shipped);
    REQUIRE((text_of_profile(profile) == *shipped));
  }
}
