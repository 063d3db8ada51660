#pragma once
#include "sim/graph/step_graph.hpp"
#include "sim/timeline/op_names.hpp"

/// A hand-made model and scenario whose every byte can be counted on paper.
namespace stepcast::test {

/// Block: one 4 x 6 matrix (24 parameters) and 1 bias-like parameter; embedding: 10 parameters;
/// head: 10 (tied).
inline Op tiny_gemm(Pass pass, GemmShape shape) {
  Op op{
      .name = std::string(op::mlp_up), .pass = pass, .precision = Precision::bf16, .shape = shape};
  op.flops = Flops(2.0 * static_cast<double>(shape.m * shape.n * shape.k));
  return op;
}
inline ModelWork tiny_work(int blocks) {
  ModelWork work;
  LayerWork embedding{
      .name = "embedding", .dense_parameters = 10, .output = Bytes(100), .counts_as_block = false};
  embedding.forward = {
      {.name = "embedding", .shape = StreamShape{StreamKind::embedding, Bytes(64), Bytes(64)}}};
  embedding.backward = {{.name = "embedding",
                         .pass = Pass::backward_weight,
                         .shape = StreamShape{StreamKind::embedding, Bytes(64), Bytes(64)}}};
  LayerWork block{.name = "block", .dense_parameters = 25, .output = Bytes(100)};
  block.forward = {tiny_gemm(Pass::forward, {8, 4, 6})};
  block.backward = {tiny_gemm(Pass::backward_data, {8, 6, 4}),
                    tiny_gemm(Pass::backward_weight, {4, 6, 8})};
  LayerWork head{
      .name = "head", .dense_parameters = 10, .output = Bytes(100), .counts_as_block = false};
  head.forward = {tiny_gemm(Pass::forward, {8, 5, 2})};
  head.backward = {tiny_gemm(Pass::backward_data, {8, 2, 5}),
                   tiny_gemm(Pass::backward_weight, {5, 2, 8})};
  work.kinds = {embedding, block, head};
  work.before = {0};
  work.blocks.assign(static_cast<std::size_t>(blocks), 1);
  work.after = {2};
  work.tied_parameters = 10;
  return work;
}
inline Scenario tiny_scenario(int pp, int dp, int micro_batches) {
  Scenario scenario;
  scenario.parallel.pp = pp;
  scenario.parallel.dp = dp;
  scenario.training.global_batch = std::int64_t{dp} * micro_batches;
  scenario.training.sequence_length = 8;
  scenario.training.gradient_clip = true;
  scenario.strategy.bucket_bytes = Bytes(0);
  return scenario;
}
}  // namespace stepcast::test
