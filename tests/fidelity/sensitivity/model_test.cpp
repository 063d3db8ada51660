// What is trained, doubled or halved. The base step is 32 ms of compute, 8 ms of optimizer and 1 ms
// of exposed reduction.
#include "tests/fidelity/sensitivity/change.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("a larger model takes longer by about its flops", "[sensitivity][fidelity]") {
  require_effects({
      // Everything but embedding and head (an eighth of the flops) doubles.
      {"layers x2", {}, {"/model/layers=16"}, 1.6, 2.0},
      // Flops of blocks x4, of the head x2; parameters x3.7; larger GEMM run at a better
      // utilisation.
      {"hidden x2", {}, {"/model/hidden=4096"}, 2.4, 4.0},
      // 24 h^2 per token and block become 40 h^2, of about 85 % of the flops: at most 1.57.
      {"ffn x2", {}, {"/model/ffn=16384"}, 1.2, 1.6},
      // The head is 2 h V of 24 h^2 L + 2 h V: 14 %.
      {"vocab x2", {}, {"/model/vocab=65536"}, 1.05, 1.35},
      // Same flops, half as wide heads: a less efficient attention and nothing else.
      {"heads x2", {}, {"/model/heads=32"}, 1.0, 1.15},
      // Keys and values 2 h^2 of 12 h^2 shrink to a quarter.
      {"kv_heads /4", {}, {"/model/kv_heads=4"}, 0.8, 0.99},
      // A third matrix in the MLP: 4 h^2 more of 12 h^2.
      {"gated MLP", {}, {"/model/gated=true"}, 1.15, 1.5},
      // Masks are written and read, nothing is computed.
      {"dropout", {}, {"/model/dropout=true"}, 1.005, 1.3},
  });
}

TEST_CASE("more data takes longer by about its tokens", "[sensitivity][fidelity]") {
  require_effects({
      // Compute doubles, optimizer and exposed reduction (9 of 41 ms) do not.
      {"global_batch x2", {}, {"/training/global_batch=64"}, 1.6, 2.0},
      // Tokens double (1.77 of the step), attention's pairs quadruple (a tenth of the flops at
      // 2048), larger kernels run better.
      {"sequence_length x2", {}, {"/training/sequence_length=4096"}, 1.6, 2.6},
      // The same tokens in half as many, larger kernels.
      {"micro_batch x2", {}, {"/training/micro_batch=2"}, 0.7, 1.02},
  });
}

TEST_CASE("how numbers and kernels are chosen moves the step", "[sensitivity][fidelity]") {
  require_effects({
      // TF32 has half the peak and twice the bytes of bf16.
      {"bf16 to tf32", {}, {"/training/precision=tf32"}, 1.5, 3.0, Category::compute},
      // fp8 has twice the peak; casts and small shapes eat most of it, so GEMM of hidden 8192 are
      // asked.
      {"bf16 to fp8",
       {"/model/hidden=8192", "/model/heads=64", "/model/layers=2"},
       {"/training/precision=fp8"},
       0.5,
       0.99,
       Category::compute},
      // Half the bytes on a wire that is 85 % of the step.
      {"gradients in bf16", kCommunicationBound, {"/training/gradient_precision=bf16"}, 0.45, 0.8},
      // SGD reads and writes less state than Adam.
      {"adam to sgd", {}, {"/training/optimizer=sgd"}, 0.2, 0.95, Category::optimizer},
      // The forward again: a third more, head and embedding excepted.
      {"full recompute", {}, {"/training/recompute=full"}, 1.12, 1.36, Category::compute},
      // Scores, softmax and values again, where they are kept.
      {"selective recompute",
       {"/training/attention=unfused"},
       {"/training/recompute=selective"},
       1.02,
       1.4,
       Category::compute},
      // Several matrices of 16 x 2048 x 2048 scores per block go through memory.
      {"unfused attention", {}, {"/training/attention=unfused"}, 1.15, 3.0, Category::compute},
      {"eager pointwise kernels", {}, {"/training/fusion=eager"}, 1.1, 3.0},
      {"compiled pointwise kernels",
       {"/training/fusion=eager"},
       {"/training/fusion=compiled"},
       0.3,
       0.95},
      // The upper triangle is computed too: attention's share is a tenth.
      {"causal_skips_half off",
       {},
       {"/training/causal_skips_half=false"},
       1.01,
       1.25,
       Category::compute},
      // A norm over 470 M gradients is not read and nothing is scaled.
      {"no gradient clip", {}, {"/training/gradient_clip=false"}, 0.3, 0.99, Category::optimizer},
  });
}

TEST_CASE("a mixture of experts feels its routing", "[sensitivity][fidelity]") {
  const Settings experts = mixture() + Settings{"/parallel/ep=8"};
  require_effects({
      // Two more experts of hidden x 4096 x 3 per token.
      {"top_k x2", experts, {"/model/moe/top_k=4"}, 1.2, 2.0},
      // The busiest rank's experts get half as much again; only they slow down.
      {"imbalance 1.5", experts, {"/model/moe/imbalance=1.5"}, 1.05, 1.5},
      // Every expert padded to twice the mean.
      {"capacity_factor 2", experts, {"/model/moe/capacity_factor=2"}, 1.1, 2.0},
      {"expert_ffn x2", experts, {"/model/moe/expert_ffn=8192"}, 1.2, 2.0},
      // Twice the expert parameters to update, the same tokens: smaller groups, no more flops.
      {"experts x2", experts, {"/model/moe/experts=16"}, 1.0, 1.6},
      // Ranks of both nodes exchange tokens: half of the bytes leave NVLink for a NIC a ninth as
      // fast.
      {"ep across nodes",
       mixture() + Settings{"/parallel/ep=8", "/model/moe/experts=16"},
       {"/parallel/ep=16"},
       1.3,
       30,
       Category::exposed_ep},
  });
}
