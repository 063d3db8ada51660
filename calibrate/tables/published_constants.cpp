#include "calibrate/tables/published_constants.hpp"

namespace stepcast {
namespace {
BandwidthFit share_of_peak(const char* kind, double share, double backward_factor, double latency_us, const GpuSpec& gpu, const char* source) {
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
  // eager_us: one framework op issued from Python. fused_us: one call of a fused module, which is fewer launches with more
  // Python around each. graph_us: one node of a replayed graph.
  const char* const traces = "host cost of a PyTorch op in public framework traces: 10-20 us";
  const char* const vtrain =
      "vTrain single-node table: about 2 ms of host per transformer layer forward and 1.2 ms backward (A100, small and "
      "tensor-parallel layers), over about 27 launches";
  return {
      {"pytorch", {12, 15, 0.2, 0.6, traces}},
      {"pytorch-2020", {20, 25, 0.2, 0.6, std::string(traces) + "; the 1.x dispatcher's upper end"}},
      {"megatron", {15, 20, 0.2, 0.6, std::string(traces) + "; fused modules carry more Python per launch"}},
      {"megatron-2021", {40, 75, 0.2, 0.36, vtrain}},
      {"megatron-deepspeed-2022", {40, 75, 0.2, 0.36, vtrain}},
      {"torchtitan", {12, 15, 0.2, 0.6, traces}},
      {"deepspeed", {20, 30, 0.2, 0.6, traces}},
      {"jax", {4, 4, 0.2, 1.0, "compiled step: the runtime enqueues kernels without Python, a few microseconds each"}},
      {"tensorflow", {10, 10, 0.2, 1.0, "graph executor: one kernel launch per node, no Python"}},
  };
}

std::vector<BandwidthFit> published_bandwidth(const GpuSpec& gpu, double latency_us) {
  return {
      share_of_peak("optimizer", 0.88, 1, latency_us, gpu,
                    "fused Adam, 539 M parameters, bf16 states, H100: 14 B per parameter at 2.11 of 2.4 TB/s (pytorch pull request 119842)"),
      share_of_peak("optimizer/eager", 0.88 / 2.4, 1, latency_us, gpu,
                    "foreach Adam fp32, H100: 2.2-2.6 times the time of the fused traffic (sarchlab/triosim 3fb3c06, MIT)"),
      share_of_peak("embedding", 0.65, 2.4, latency_us, gpu,
                    "table-batched lookup: 65 % of peak forward, 27 % backward with optimizer (meta-pytorch/torchrec pull request 4757)"),
      share_of_peak("loss", 0.55, 1, latency_us, gpu,
                    "fused cross-entropy over 32,000 classes, A100: about 1.07 TB/s for logits read twice and written once (NeMo Automodel pull request 2428)"),
  };
}

void prepend_short_sequences(FactorCurve& curve) {
  // Causal, head dimension 128, 4 x 48 heads: FlashAttention-3 and its TLX rewrite take 4.2-5.0 times the forward at 1k,
  // 4.1-4.4 at 2k (meta-pytorch/tritonbench pull requests 1254, 1256, 1267).
  constexpr std::pair<double, double> kShort[] = {{1024, 4.6}, {2048, 4.2}};
  for (auto point = std::rbegin(kShort); point != std::rend(kShort); ++point)
    if (curve.points.empty() || point->first < curve.points.front().first) curve.points.insert(curve.points.begin(), *point);
  curve.source += "; below its shortest sequence meta-pytorch/tritonbench pull requests 1254, 1256, 1267 (H100)";
}

void set_published_constants(KernelProfile& kernels) {
  // 3.8 us per 2.9 us kernel when launches run ahead of the device: A. Gray, "Getting Started with CUDA Graphs", NVIDIA 2019.
  kernels.launch_gap_us = 0.9;
  // Mean over training runs on A100, H100, MI250 (maximum 1.40): arXiv 2507.03114. One kernel under NCCL suffers more, 1.7-1.8
  // (NCCL issue 1428), but a step's kernels are only partly under it.
  kernels.overlap_slowdown_compute = 1.19;
  // What the same work says of the collective: overlapped execution gains almost its whole ideal, so the transfer itself keeps pace.
  kernels.overlap_slowdown_comm = 1.0;
}
}  // namespace stepcast
