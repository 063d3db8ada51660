#include "calibrate/tables/published_constants.hpp"

namespace stepcast {
namespace {
BandwidthFit share_of_peak(const char* kind, double share, double backward_factor,
                           double latency_us, const GpuSpec& gpu, const char* source) {
  BandwidthFit fit;
  fit.kind = kind;
  fit.latency_us = latency_us;
  fit.dram_GBps = share * gpu.memory_bandwidth.value / 1e9;
  fit.backward_factor = backward_factor;
  fit.source = source;
  return fit;
}
}  // namespace

std::map<std::string, HostFit> published_host_fits() {
  // eager_us: one framework op issued from Python. fused_us: one call of a fused module, which is
  // fewer launches with more Python around each. graph_us: one node of a replayed graph.
  const char* const traces = "host cost of a PyTorch op in public framework traces: 10-20 us";
  const char* const vtrain =
      "vTrain single-node table: about 2 ms of host per transformer layer forward and 1.2 ms "
      "backward (A100, small and "
      "tensor-parallel layers), over about 27 launches";
  const char* const deepspeed =
      "vTrain single-node table, a coarse search over its rows: 3.0-3.4 ms of host per transformer "
      "layer and micro-batch, 0.36 "
      "of a forward launch per backward launch";
  // host_sigma: groups of vTrain rows of equal shape differ by -12 to +16 % in host time per layer,
  // alike within a group. step_sigma: what brings 90 % of the measured steps of all public tables
  // of a framework into the interval once kernels, collectives, host and run have their share
  // (tests/fidelity/validate/SUMMARY.md); frameworks without steps take the middle.
  constexpr double kHostSigma = 0.12, kMiddle = 0.06;
  return {
      {"pytorch", {12, 15, 0.2, 0.6, traces, kHostSigma, 0.03}},
      {"pytorch-2020",
       {20, 25, 0.2, 0.6, std::string(traces) + "; the 1.x dispatcher's upper end", kHostSigma,
        0.15}},
      {"megatron",
       {15, 20, 0.2, 0.6, std::string(traces) + "; fused modules carry more Python per launch",
        kHostSigma, 0.06}},
      {"megatron-2021", {40, 75, 0.2, 0.36, vtrain, kHostSigma, 0.03}},
      {"megatron-deepspeed-2022", {63, 118, 0.2, 0.36, deepspeed, kHostSigma, 0.06}},
      {"torchtitan", {12, 15, 0.2, 0.6, traces, kHostSigma, 0.08}},
      {"deepspeed", {20, 30, 0.2, 0.6, traces, kHostSigma, 0.25}},
      {"deepspeed-2021", {40, 75, 0.2, 0.36, vtrain, kHostSigma, 0.25}},  // over Megatron's layers
      {"jax",
       {4, 4, 0.2, 1.0,
        "compiled step: the runtime enqueues kernels without Python, a few microseconds each",
        kHostSigma, kMiddle}},
      {"tensorflow",
       {10, 10, 0.2, 1.0, "graph executor: one kernel launch per node, no Python", kHostSigma,
        0.14}},
  };
}

std::vector<BandwidthFit> published_bandwidth(const GpuSpec& gpu, double latency_us) {
  return {
      share_of_peak("optimizer", 0.88, 1, latency_us, gpu,
                    "fused Adam, 539 M parameters, bf16 states, H100: 14 B per parameter at 2.11 "
                    "of 2.4 TB/s (pytorch pull request 119842)"),
      share_of_peak("optimizer/eager", 0.88 / 2.4, 1, latency_us, gpu,
                    "foreach Adam fp32, H100: 2.2-2.6 times the time of the fused traffic "
                    "(sarchlab/triosim 3fb3c06, MIT)"),
      share_of_peak("embedding", 0.65, 2.4, latency_us, gpu,
                    "table-batched lookup: 65 % of peak forward, 27 % backward with optimizer "
                    "(meta-pytorch/torchrec pull request 4757)"),
      share_of_peak("loss", 0.55, 1, latency_us, gpu,
                    "fused cross-entropy over 32,000 classes, A100: about 1.07 TB/s for logits "
                    "read twice and written once (NeMo Automodel pull request 2428)"),
  };
}

void prepend_short_sequences(FactorCurve& curve) {
  // Causal, head dimension 128, 4 x 48 heads: FlashAttention-3 and its TLX rewrite take 4.2-5.0
  // times the forward at 1k, 4.1-4.4 at 2k (meta-pytorch/tritonbench pull requests 1254, 1256,
  // 1267).
  constexpr std::pair<double, double> kShort[] = {{1024, 4.6}, {2048, 4.2}};
  for (auto point = std::rbegin(kShort); point != std::rend(kShort); ++point)
    if (curve.points.empty() || point->first < curve.points.front().first)
      curve.points.insert(curve.points.begin(), *point);
  curve.source +=
      "; below its shortest sequence meta-pytorch/tritonbench pull requests 1254, 1256, 1267 "
      "(H100)";
}

void set_attention_generations(KernelProfile& kernels, const std::string& generation) {
  // Tables: FlashAttention-2 on A100, -3 on Hopper, FlashInfer or TensorRT on Blackwell.
  // FlashAttention-2 is 1.3-2.5 times as fast as the first kernel in Triton (arXiv
  // 2307.08691): 1.55 fits llm-foundry's public A100 rows of 16k tokens and more. FlashAttention-3
  // is 1.5-2.0 times as fast as -2 forward, 1.5-1.75 backward (arXiv 2407.08608). On Hopper the
  // Triton kernel does not use the asynchronous tensor cores either: 1.55 x 1.75.
  constexpr double kTritonOverFlash2 = 1.55, kFlash2OverFlash3 = 1.75;
  if (generation == "a100") kernels.parameters["attention_triton_slowdown"] = kTritonOverFlash2;
  if (generation == "hopper") {
    kernels.parameters["attention_flash2_slowdown"] = kFlash2OverFlash3;
    kernels.parameters["attention_triton_slowdown"] = kTritonOverFlash2 * kFlash2OverFlash3;
  }
  // No comparison on Blackwell was found; twice Hopper's gap, as its tensor cores are twice as far
  // ahead of the instructions that FlashAttention-2 uses.
  if (generation == "blackwell")
    kernels.parameters["attention_flash2_slowdown"] = 2 * kFlash2OverFlash3;
}

namespace {
/// How generations of frameworks call collectives (CollectiveHabits in sim/engine/lowering).
void set_collective_habits(KernelProfile& kernels) {
  auto& parameters = kernels.parameters;
  // vTrain's single-node table, a coarse search over its rows: mean error of its two halves by hash
  // 6.0 and 6.7 % without, 5.7 and 6.0 % with. Host-bound layers grow from 3.0-3.4 ms over one and
  // two ranks to 3.9-5.0 over eight.
  parameters["collective_issue_us/megatron-deepspeed-2022"] = 30;
  parameters["collective_issue_us_per_peer/megatron-deepspeed-2022"] = 10;
  parameters["collective_wait_us_per_peer/megatron-deepspeed-2022"] = 60;
  // DeepSpeed of 2021 gathered and scattered every tensor above the persistence threshold by itself
  // (_allgather_param and _reduce_scatter_gradient, microsoft/DeepSpeed
  // deepspeed/runtime/zero/partition_parameters.py@c4ec23fc). A transformer block has four: its
  // matrices; biases and norms, at most 4 C elements, stay whole. torch.distributed.all_gather over
  // a list copies each rank's share by a kernel of its own (pytorch pull request 33924). Its time
  // is assumed: 8 us of issue and gap, half of an op that Python issues ("pytorch" above).
  parameters["collectives_per_layer/deepspeed-2021"] = 4;
  parameters["list_copy_us/deepspeed-2021"] = 8;
}
}  // namespace

void set_published_constants(KernelProfile& kernels) {
  // 3.8 us per 2.9 us kernel when launches run ahead of the device: A. Gray, "Getting Started with
  // CUDA Graphs", NVIDIA 2019.
  kernels.launch_gap_us = 0.9;
  // Mean over training runs on A100, H100, MI250 (maximum 1.40): arXiv 2507.03114. One kernel under
  // NCCL suffers more, 1.7-1.8 (NCCL issue 1428), but a step's kernels are only partly under it.
  kernels.overlap_slowdown_compute = 1.19;
  // What the same work says of the collective: overlapped execution gains almost its whole ideal,
  // so the transfer itself keeps pace.
  kernels.overlap_slowdown_comm = 1.0;
  set_collective_habits(kernels);
}
}  // namespace stepcast
