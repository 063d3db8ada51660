#include "calibrate/tables/stream_fits.hpp"

#include <functional>
#include <optional>

#include "calibrate/tables/published_constants.hpp"

namespace stepcast {
namespace {

/// Layer norm backward over forward, per byte, where the forward was measured alone: cuDNN
/// reaches 3.46 forward and 3.28 TB/s backward on H200, PyTorch 2.73 and 1.52 (cudnn-frontend norm
/// tables).
constexpr double kFusedNormBackward = 1.06, kEagerNormBackward = 1.8;

class StreamFitter {
 public:
  StreamFitter(TableSet& tables, const ProfileTarget& target, const GpuSpec& gpu, double latency_us)
      : tables_(tables), target_(target), gpu_(gpu), latency_us_(latency_us) {}

  using Samples = std::function<std::vector<BandwidthSample>(const CsvTable&)>;
  /// A fit from the first folder that has the file and rows in it.
  std::optional<BandwidthFit> from(const std::string& file, const std::string& kind,
                                   const Samples& samples_of,
                                   FloorOrigin floor = FloorOrigin::device) {
    for (const std::string& folder : target_.folders) {
      if (!tables_.has_shippable(folder, file)) continue;
      const auto samples = samples_of(tables_.kernels(folder, file));
      if (samples.size() < 3) continue;
      const double l2 = target_.l2_MB * 1e6;
      BandwidthFit fit =
          fit_bandwidth(kind, samples, l2, floor, latency_us_, tables_.origin(folder, file));
      if (gpu_of_folder(folder) == target_.name) return fit;
      return transferred(std::move(fit), catalogued_gpu(gpu_of_folder(folder)), gpu_, l2);
    }
    return std::nullopt;
  }

 private:
  TableSet& tables_;
  const ProfileTarget& target_;
  const GpuSpec& gpu_;
  double latency_us_;
};
}  // namespace

std::vector<BandwidthFit> fit_streams(TableSet& tables, const ProfileTarget& target,
                                      const GpuSpec& gpu, double latency_us) {
  std::vector<BandwidthFit> fits;
  if (target.name.starts_with("mi") || target.folders.empty())
    return published_bandwidth(gpu, latency_us);  // no table of them
  StreamFitter fitter(tables, target, gpu, latency_us);
  const auto add = [&](std::optional<BandwidthFit> fit) {
    if (fit) fits.push_back(std::move(*fit));
    return fit.has_value();
  };

  // Elementwise: Ampere has measured additions; the newer parts a streaming cast over a wide range
  // of sizes.
  const bool is_ampere = target.name.starts_with("a100"),
             is_volta = target.name.starts_with("v100");
  auto elementwise =
      is_ampere ? fitter.from("elementwise_llm_layers.csv.gz", "elementwise",
                              [](const CsvTable& t) { return llm_layer_samples(t, "add"); })
      : is_volta
          ? fitter.from(
                "elementwise_norm_softmax_fp32.csv.gz", "elementwise",
                [](const CsvTable& t) { return fp32_samples(t, "add", 3); }, FloorOrigin::host)
          : fitter.from("quantize_bf16_to_fp8.csv", "elementwise", cast_samples);
  if (elementwise) {
    for (const char* kind : {"copy", "reduction"}) {
      fits.push_back(*elementwise);
      fits.back().kind = kind;
      fits.back().source += "; taken from elementwise";
    }
    fits.insert(fits.begin(), *elementwise);
  }
  const auto fp32 = [&](const char* kind, const char* op) {
    return fitter.from(
        "elementwise_norm_softmax_fp32.csv.gz", kind,
        [op](const CsvTable& t) { return fp32_samples(t, op, 2); }, FloorOrigin::host);
  };
  if (is_ampere || is_volta) {
    auto norm = fp32("norm", "ln");
    if (norm) norm->backward_factor = kFusedNormBackward;
    if (add(norm)) {
      fits.push_back(*norm);
      fits.back().kind = "norm/eager";
      fits.back().backward_factor = kEagerNormBackward;
    }
  } else {
    for (const auto& [library, kind] :
         {std::pair{"cudnn", "norm"}, std::pair{"pytorch", "norm/eager"},
          std::pair{"torch_compile", "norm/compiled"}}) {
      auto forward =
          fitter.from("norm_forward_backward.csv", kind,
                      [&, l = library](const CsvTable& t) { return norm_samples(t, l, "fwd"); });
      const auto backward =
          fitter.from("norm_forward_backward.csv", kind,
                      [&, l = library](const CsvTable& t) { return norm_samples(t, l, "bwd"); });
      if (forward && backward) {
        constexpr double kLargeNorm_bytes =
            256e6;  // compare the two lines where both stream from DRAM
        const auto rate = [](const BandwidthFit& f) {
          return f.dram_GBps / (1 + f.half_rate_bytes / kLargeNorm_bytes);
        };
        forward->backward_factor = rate(*forward) / rate(*backward);
      }
      add(forward);
    }
  }
  add(fp32("softmax", "softmax"));
  auto batch_norm = fitter.from("resnet50_batch128_operators_fp32.csv", "batch_norm",
                                [](const CsvTable& t) { return batch_norm_samples(t, false); });
  const auto batch_norm_backward =
      fitter.from("resnet50_batch128_operators_fp32.csv", "batch_norm",
                  [](const CsvTable& t) { return batch_norm_samples(t, true); });
  if (batch_norm && batch_norm_backward)
    batch_norm->backward_factor = batch_norm->dram_GBps / batch_norm_backward->dram_GBps;
  add(batch_norm);
  for (BandwidthFit& fit : published_bandwidth(gpu, latency_us)) fits.push_back(std::move(fit));
  return fits;
}
}  // namespace stepcast
