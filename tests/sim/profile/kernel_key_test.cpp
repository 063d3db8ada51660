#include "sim/profile/kernel_key.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
Op op_of(decltype(Op::shape) shape, Pass pass = Pass::forward) {
  Op op;
  op.shape = shape;
  op.pass = pass;
  return op;
}
}  // namespace

TEST_CASE("kernel keys spell out every amount that a kernel depends on", "[profile]") {
  REQUIRE(kernel_key(op_of(GemmShape{4096, 12288, 4096, 1, false})) ==
          "gemm/bf16/m4096/n12288/k4096/b1");
  REQUIRE(kernel_key(op_of(GemmShape{128, 512, 64, 8, true})) ==
          "gemm/bf16/m128/n512/k64/b8/grouped");
  REQUIRE(kernel_key(op_of(AttentionShape{1, 32, 8, 4096, 4096, 128, 128, true, true})) ==
          "attention_backward/bf16/b1/h32/kv8/q4096/k4096/d128/v128/causal");
  REQUIRE(kernel_key(op_of(StreamShape{StreamKind::norm, Bytes(100), Bytes(50)},
                           Pass::backward_data)) == "norm/bf16/r100/w50/backward_data");
  REQUIRE(kernel_key(op_of(ConvShape{128, 64, 56, 56, 64, 3, 1, 1}, Pass::backward_weight)) ==
          "conv/bf16/n128/c64/h56/w56/o64/f3/s1/g1/backward_weight");
}

TEST_CASE("recomputed work has the key of the forward", "[profile]") {
  const StreamShape shape{StreamKind::elementwise, Bytes(8), Bytes(8)};
  REQUIRE(kernel_key(op_of(shape, Pass::recompute)) == kernel_key(op_of(shape, Pass::forward)));
}

TEST_CASE("a GEMM has one key in every pass because its shape says what is computed", "[profile]") {
  const GemmShape shape{8, 8, 8, 1, false};
  REQUIRE(kernel_key(op_of(shape, Pass::backward_data)) == kernel_key(op_of(shape)));
}
