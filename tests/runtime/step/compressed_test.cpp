#include <map>

#include "sim/timeline/op_names.hpp"
#include "tests/runtime/step/small_plan.hpp"

/// Training steps whose gradients travel compressed.
namespace stepcast::runtime::test {
namespace {
TrainingPlan two_ranks(const std::string& scheme) {
  TrainingPlan plan = small_plan(Style::gpt);
  plan.layout.dp = 2;
  plan.training.micro_batch = 2;
  plan.buckets.bucket = Bytes(16 << 10);
  // A tenth: of the default's hundredth little would be left of such small buckets.
  if (!scheme.empty()) plan.buckets.compressor = CompressorChoice{.scheme = scheme, .ratio = 0.1};
  return plan;
}
}  // namespace

TEST_CASE("every compressor trains and leaves all ranks with equal parameters to the bit",
          "[runtime][compress]") {
  for (const std::string& scheme : compressor_names()) {
    INFO(scheme);
    std::vector<std::vector<float>> weights(2);
    std::vector<double> losses;
    on_ranks(two_ranks(scheme), [&](Trainer& t) {
      for (int step = 1; step <= 60; ++step) {
        t.load_batches(step);
        train_step(t, step);
        const double loss = t.mean_loss();
        if (t.rank == 0) losses.push_back(loss);
      }
      const auto* w = t.model->parameters().weights().as<float>();
      weights[static_cast<std::size_t>(t.rank)].assign(w, w + t.model->parameters().elements());
    });
    REQUIRE(weights[0] == weights[1]);
    REQUIRE(losses.back() < 0.85 * losses.front());
  }
}

TEST_CASE("casts to 16 bit change a loss curve by their rounding only", "[runtime][compress]") {
  const std::vector<double> plain = loss_curve(two_ranks(""), 10);
  for (const char* scheme : {"fp16", "bf16"}) {
    const std::vector<double> cast = loss_curve(two_ranks(scheme), 10);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      INFO(scheme << " step " << i + 1);
      REQUIRE(cast[i] == Approx(plain[i]).epsilon(0.02));  // bf16 keeps 8 bits
    }
    REQUIRE(cast != plain);
  }
}

TEST_CASE("buckets are encoded on the compute stream and decoded on the gradient stream",
          "[runtime][compress]") {
  for (const auto& [scheme, messages, encodes] :
       {std::tuple("topk", 1, 0), std::tuple("powersgd", 2, 2)}) {
    INFO(scheme);
    std::map<std::pair<std::string, std::string>, int> count;  // (stream, op) -> spans
    std::size_t buckets = 0;
    on_ranks(two_ranks(scheme), [&](Trainer& t) {
      t.load_batches(1);
      t.device.recorder().start();
      train_step(t, 1);
      t.device.synchronise();
      t.device.recorder().stop();
      if (t.rank != 0) return;
      buckets = t.buckets->buckets().size();
      const Timeline timeline =
          timeline_of(t.device.recorder().labels(), t.device.recorder().activities(),
                      t.device.recorder().streams(), 0, t.rank);
      for (const Span& span : timeline.spans)
        ++count[{timeline.tracks[span.track].stream, timeline.names.text_of(span.name)}];
    });
    const auto n = static_cast<int>(buckets);
    REQUIRE(n > 3);
    const auto spans = [&](const char* stream, std::string_view name) {
      return count[{stream, std::string(name)}];
    };
    REQUIRE(spans("compute", op::encode) == n);
    REQUIRE(spans("gradient", op::encode) == encodes * n);  // PowerSGD's second factor
    REQUIRE(spans("gradient", op::grad_reduce) == messages * n);
    REQUIRE(spans("gradient", op::decode) == n);
    REQUIRE(spans("compute", op::decode) == 0);
  }
}

TEST_CASE("compression beside a sharded optimizer is refused", "[runtime][compress]") {
  TrainingPlan plan = two_ranks("int8");
  plan.layout.zero_stage = 1;
  REQUIRE_THROWS_AS(on_ranks(plan, [](Trainer&) {}), InputError);
}
}  // namespace stepcast::runtime::test
