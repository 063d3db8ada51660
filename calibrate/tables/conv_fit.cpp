#include <array>
#include <charconv>

#include "calibrate/tables/kernel_fits.hpp"
#include "sim/cost/roofline.hpp"

namespace stepcast {
namespace {
const std::vector<std::string> kFeatures{"m", "n", "k"};
constexpr double kHostFloorCut_us = 200;  // see gemm_fit.cpp

struct ConvSamples {
  std::array<std::vector<ShapeSample>, 3> by_direction;
  void add(const ConvShape& shape, std::size_t direction, double time_us, Precision precision,
           const GpuSpec& gpu) {
    const GemmShape g = implicit_gemm(shape, kPasses[direction]);
    const Seconds roofline = roofline_time(conv_amounts(shape, precision), precision, gpu);
    by_direction[direction].push_back({{static_cast<double>(g.m * g.batch),
                                        static_cast<double>(g.n), static_cast<double>(g.k), 0},
                                       roofline.value / (time_us * 1e-6)});
  }
  std::vector<KernelFamily> families(Precision precision, const std::string& source) const {
    std::vector<KernelFamily> list;
    for (std::size_t d = 0; d < 3; ++d) {
      if (by_direction[d].empty()) continue;
      const std::string name = std::string(kNames[d]) + "/" + std::string(text_of(precision));
      const auto fit = [&](const std::vector<ShapeSample>& s) {
        return fit_points(name, kFeatures, {}, {2, 2, 2, 0}, s, source);
      };
      list.push_back(fit(by_direction[d]));
      list.back().hold_out_error = hold_out_error(by_direction[d], fit);
    }
    return list;
  }
  static constexpr std::array kPasses{Pass::forward, Pass::backward_data, Pass::backward_weight};
  static constexpr std::array kNames{"conv_forward", "conv_backward_data", "conv_backward_weight"};
};

/// "128x64x56x56" -> {128, 64, 56, 56}; anything else gives fewer than four numbers.
std::vector<std::int64_t> dims_of(std::string_view text) {
  std::vector<std::int64_t> dims;
  while (!text.empty()) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return {};
    dims.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty() && text.front() == 'x')
      text.remove_prefix(1);
    else if (!text.empty())
      return {};
  }
  return dims;
}
/// "a;b;c" -> {"a", "b", "c"}
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(';', from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}
}  // namespace

std::vector<KernelFamily> fit_v100_conv(const CsvTable& table, const GpuSpec& gpu,
                                        const std::string& source) {
  std::vector<KernelFamily> families;
  for (const auto& [text, precision] : {std::pair{"fp16_in_fp32_accumulate", Precision::fp16},
                                        std::pair{"fp32", Precision::fp32}}) {
    ConvSamples samples;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (table.text(row, "precision") != text) continue;
      const auto number = [&](const char* column) {
        return static_cast<std::int64_t>(table.number(row, column).value_or(0));
      };
      ConvShape shape{number("batch"),           number("in_channels"),
                      number("height"),          number("width"),
                      number("out_channels"),    number("filter_height"),
                      number("stride_vertical"), 1};
      if (shape.kernel != number("filter_width")) continue;  // the op list has square filters only
      const std::array<const char*, 3> columns{"forward_us", "backward_data_us",
                                               "backward_weights_us"};
      for (std::size_t d = 0; d < 3; ++d)
        if (const auto t = table.number(row, columns[d]); t && *t > 0)
          samples.add(shape, d, *t, precision, gpu);
    }
    for (KernelFamily& family : samples.families(precision, source))
      families.push_back(std::move(family));
  }
  return families;
}

KernelFamily fit_conv_forward_fp32(const CsvTable& table, const GpuSpec& gpu,
                                   const std::string& source) {
  ConvSamples samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto number = [&](const char* column) {
      return static_cast<std::int64_t>(table.number(row, column).value_or(0));
    };
    const double t = table.number(row, "time_us").value_or(0);
    const ConvShape shape{
        number("batch"),        number("in_channels"), number("input_size"), number("input_size"),
        number("out_channels"), number("kernel"),      number("stride"),     1};
    if (t >= kHostFloorCut_us) samples.add(shape, 0, t, Precision::fp32, gpu);
  }
  return samples.families(Precision::fp32, source).front();
}

std::vector<KernelFamily> fit_resnet_conv(const CsvTable& table, const GpuSpec& gpu,
                                          const std::string& source) {
  ConvSamples samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& op = table.text(row, "operator");
    const bool is_forward = op == "aten::conv2d", is_backward = op == "ConvolutionBackward0";
    // Time that the operator's kernels do not share with another operator's: one row of the trace
    // overlaps its neighbour.
    const double t = table.number(row, "time_without_overlap_us").value_or(0);
    if (!(is_forward || is_backward) || !(t > 0)) continue;
    // forward: input; filter -> output. backward: gradient of the output; input; filter.
    const std::vector<std::string> inputs = split(table.text(row, "input_shapes"));
    const auto dims = [&](std::size_t i) {
      return i < inputs.size() ? dims_of(inputs[i]) : std::vector<std::int64_t>{};
    };
    const auto input = dims(is_forward ? 0 : 1), filter = dims(is_forward ? 1 : 2);
    const auto output = is_forward ? dims_of(table.text(row, "output_shapes")) : dims(0);
    if (input.size() != 4 || filter.size() != 4 || output.size() != 4) continue;
    const ConvShape shape{
        input[0], input[1], input[2], input[3], filter[0], filter[2], input[2] / output[2], 1};
    if (is_forward) samples.add(shape, 0, t, Precision::tf32, gpu);
    if (is_backward && shape.c_in > 3) {  // the first layer has no gradient of its input
      samples.add(shape, 1, t / 2, Precision::tf32, gpu);
      samples.add(shape, 2, t / 2, Precision::tf32, gpu);
    }
  }
  return samples.families(Precision::tf32, source);
}
}  // namespace stepcast
