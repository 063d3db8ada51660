// How the model is cut over the GPUs.
#include "tests/fidelity/sensitivity/change.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("more GPUs shorten a fixed batch and hardly lengthen a growing one",
          "[sensitivity][fidelity]") {
  require_effects({
      // Compute halves (two micro-batches become one); optimizer and reduction stay.
      {"nodes x2, batch fixed", {}, {"/cluster/nodes=4"}, 0.5, 0.85},
      // The reduction has more steps, the same bytes per port but for (n-1)/n.
      {"nodes x2, batch grows", {}, {"/cluster/nodes=4", "/training/global_batch=64"}, 1.0, 1.15},
      // Half the GPUs for the same batch: twice the compute per GPU.
      {"half of the GPUs of a node", {}, {"/cluster/gpus_per_node=4"}, 1.5, 2.1},
  });
}

TEST_CASE("tensor parallelism trades work for messages", "[sensitivity][fidelity]") {
  const Settings tp8{"/parallel/tp=8"};
  const Settings sequence = tp8 + Settings{"/parallel/sequence_parallel=true"};
  require_effects({
      // Each rank updates a half of the parameters, embedding included.
      {"tp 2", {}, {"/parallel/tp=2"}, 0.45, 0.6, Category::optimizer},
      // A rank's work per sequence falls by 4 but it runs 4 times as many, with smaller GEMM and
      // all-reduces.
      {"tp 2 to 8", {"/parallel/tp=2"}, tp8, 1.15, 4.0},
      // 2 S over 8 x 50 GB/s NICs of a node in place of 450 GB/s NVLink per GPU, and network
      // latency.
      {"tp over two nodes", tp8, {"/parallel/tp=16"}, 1.5, 20, Category::exposed_tp},
      // Norms, dropout and residuals over an eighth of the tokens.
      {"sequence parallel",
       tp8,
       {"/parallel/sequence_parallel=true"},
       0.6,
       0.99,
       Category::compute},
      // Half of what may hide is hidden; the last reduction of a block has nothing behind it.
      {"tp_overlap 0.5", sequence, {"/strategy/tp_overlap=0.5"}, 0.45, 0.65, Category::exposed_tp},
  });
}

TEST_CASE("a pipeline's bubble follows its depth, micro-batches and schedule",
          "[sensitivity][fidelity]") {
  // Bubble share of 1F1B: (p-1) / (m + p - 1).
  const Settings pp4{"/parallel/pp=4", "/training/global_batch=16"};  // dp 4, so m = 4
  require_effects({
      // p-1 = 1 becomes 3 while a stage's micro-batch takes half as long: 1.5 times.
      {"pp 2 to 4", {"/parallel/pp=2"}, {"/parallel/pp=4"}, 1.1, 2.2, Category::bubble},
      // m = 4 becomes 8: 11/7 of the pipeline's passes.
      {"micro-batches x2", pp4, {"/training/global_batch=32"}, 1.4, 1.9},
      // Two chunks per stage halve the bubble.
      {"interleaved x2",
       pp4,
       {"/parallel/schedule=interleaved", "/parallel/virtual_stages=2"},
       0.35,
       0.8,
       Category::bubble},
      // ZB-H1 fills two thirds of it with weight gradients at best.
      {"zero-bubble", pp4, {"/parallel/schedule=zero-bubble"}, 0.1, 0.75, Category::bubble},
      // GPipe has the bubble of 1F1B; it differs in memory.
      {"gpipe", pp4, {"/parallel/schedule=gpipe"}, 0.95, 1.1},
      // The head is worth 32768 / (12 x 2048) = 1.33 blocks. Pipeline: sum of stages + 3 x slowest
      // = 9.33 + 3 x 3.33 blocks' passes
      // become 9.33 + 3 x 5, and 9.33 + 3 x 3 where the last stage gives a block away; optimizer
      // and reduction stand beside.
      {"uneven stages", pp4, {"/parallel/layers_per_stage=[5, 1, 1, 1]"}, 1.08, 1.27},
      {"stages evened out", pp4, {"/parallel/layers_per_stage=[2, 2, 3, 1]"}, 0.9, 0.999},
  });
}

TEST_CASE("context parallelism splits a sequence at little cost", "[sensitivity][fidelity]") {
  const Settings lengthy{"/training/sequence_length=8192", "/training/global_batch=16"};
  require_effects({
      // Two micro-batches of half a sequence for one whole; attention runs in more and smaller
      // pieces.
      {"cp 2", lengthy, {"/parallel/cp=2"}, 0.85, 1.4},
  });
  // All-to-all moves heads before and after attention with nothing to hide behind; a ring hides
  // behind attention.
  const double ring =
      seconds_of(forecast(lengthy + Settings{"/parallel/cp=4"}), Category::exposed_cp);
  const double all_to_all =
      seconds_of(forecast(lengthy + Settings{"/parallel/cp=4", "/parallel/context=all-to-all"}),
                 Category::exposed_cp);
  CHECK(all_to_all > ring);
  CHECK(all_to_all > 0.2e-3);  // at least 4 exchanges of 8 MiB per block and micro-batch at 450
                               // GB/s: 8 x 4 x 4 x 14 us
}

TEST_CASE("sharding the state shortens the update and pays on the wire",
          "[sensitivity][fidelity]") {
  const Settings sharded{"/parallel/zero_stage=3", "/cluster/nic_Gbps=20"};
  require_effects({
      // Adam over a sixteenth of the parameters; the norm still reads what a rank holds.
      {"zero 1", {}, {"/parallel/zero_stage=1"}, 0.05, 0.4, Category::optimizer},
      // Each of two micro-batches gathers twice in 16 bit and scatters once in 32, 2 x 8 bytes per
      // parameter; a tree of two nodes
      // reduces once with 4. A gather must also end before its layer starts, so less hides.
      {"zero 3",
       {"/cluster/nic_Gbps=20"},
       {"/parallel/zero_stage=3"},
       2.0,
       5.0,
       Category::exposed_dp},
      // Gathers and scatters stay on NVLink; the network carries an eighth, reduced across the two
      // nodes.
      {"shards within a node", sharded, {"/parallel/shard_size=8"}, 0.2, 0.9},
      // One of three passes over the parameters is saved.
      {"no reshard after forward", sharded, {"/strategy/reshard_after_forward=false"}, 0.6, 0.9},
      // Every gather waits until its layer is due.
      {"prefetch off", {"/parallel/zero_stage=3"}, {"/strategy/prefetch=0"}, 1.1, 3.0},
  });
}
