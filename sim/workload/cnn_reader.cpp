#include <fmt/format.h>

#include "sim/workload/op_makers.hpp"
#include "sim/workload/other_models.hpp"

namespace stepcast {
namespace {
enum class ConvBlock { conv, basic, bottleneck, mbconv };
}  // namespace
template <>
struct EnumText<ConvBlock> {
  static constexpr std::array<std::pair<ConvBlock, std::string_view>, 4> table{
      {{ConvBlock::conv, "conv"},
       {ConvBlock::basic, "basic"},
       {ConvBlock::bottleneck, "bottleneck"},
       {ConvBlock::mbconv, "mbconv"}}};
};

namespace {
constexpr std::int64_t kMaxChannels = 1 << 16, kMaxSize = 1 << 14;

/// Writes blocks out as convolutions while walking through the image.
struct Walk {
  std::vector<ConvLayer>& layers;
  std::int64_t channels = 3, size = 224;

  ConvLayer& conv(std::string name, std::int64_t c_out, std::int64_t kernel, std::int64_t stride,
                  std::int64_t groups = 1) {
    layers.push_back({.name = std::move(name),
                      .c_in = channels,
                      .h = size,
                      .w = size,
                      .c_out = c_out,
                      .kernel = kernel,
                      .stride = stride,
                      .groups = groups});
    channels = c_out;
    size = conv_output(size, stride);
    return layers.back();
  }
  /// 1x1 convolution beside the block where its input does not fit its output.
  void shortcut(const std::string& name, std::int64_t c_in, std::int64_t input, std::int64_t c_out,
                std::int64_t stride) {
    if (c_in == c_out && stride == 1) return;
    layers.push_back({.name = name + "_shortcut",
                      .c_in = c_in,
                      .h = input,
                      .w = input,
                      .c_out = c_out,
                      .kernel = 1,
                      .stride = stride,
                      .activation = false});
  }
  void basic(const std::string& name, std::int64_t c_out, std::int64_t stride) {
    const std::int64_t c_in = channels, input = size;
    shortcut(name, c_in, input, c_out, stride);
    conv(name + "_a", c_out, 3, stride);
    conv(name + "_b", c_out, 3, 1).residual_add = true;
  }
  /// ResNet v1.5: the stride sits in the 3x3 convolution.
  void bottleneck(const std::string& name, std::int64_t c_out, std::int64_t stride,
                  std::int64_t kernel) {
    const std::int64_t c_in = channels, input = size;
    shortcut(name, c_in, input, c_out, stride);
    conv(name + "_a", c_out / 4, 1, 1);
    conv(name + "_b", c_out / 4, kernel, stride);
    conv(name + "_c", c_out, 1, 1).residual_add = true;
  }
  /// Inverted bottleneck with squeeze-and-excite (Tan and Le 2019).
  void mbconv(const std::string& name, std::int64_t c_out, std::int64_t stride, std::int64_t kernel,
              std::int64_t expand) {
    const std::int64_t c_in = channels, inner = c_in * expand;
    if (expand > 1) conv(name + "_expand", inner, 1, 1);
    ConvLayer& depthwise = conv(name + "_depthwise", inner, kernel, stride, inner);
    depthwise.squeeze_excite = true;
    depthwise.squeeze_width = std::max<std::int64_t>(c_in / 4, 1);
    ConvLayer& project = conv(name + "_project", c_out, 1, 1);
    project.activation = false;
    project.residual_add = stride == 1 && c_in == c_out;
  }
};

void read_item(ObjectReader item, Walk& walk, std::size_t index) {
  const ConvBlock block = item.one_of<ConvBlock>("block", ConvBlock::conv);
  const std::string name = item.text("name", fmt::format("conv{}", index + 1));
  const std::int64_t channels = item.integer("channels", {.min = 1, .max = kMaxChannels});
  const std::int64_t count = item.integer("count", {.fallback = 1, .min = 1, .max = 1024});
  const std::int64_t stride = item.integer("stride", {.fallback = 1, .min = 1, .max = 16});
  const std::int64_t kernel = item.integer("kernel", {.fallback = 3, .min = 1, .max = 64});
  const std::int64_t pool = item.integer("pool", {.fallback = 1, .min = 1, .max = 16});
  const std::int64_t expand =
      block == ConvBlock::mbconv ? item.integer("expand", {.fallback = 6, .min = 1, .max = 64}) : 1;
  // A branch starts from another place than the end of the layer before.
  walk.channels = item.integer("c_in", {.fallback = walk.channels, .min = 1, .max = kMaxChannels});
  walk.size = item.integer("size", {.fallback = walk.size, .min = 1, .max = kMaxSize});
  if (block == ConvBlock::bottleneck && channels % 4 != 0)
    item.problem("channels", fmt::format("{} is not a multiple of 4", channels));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string numbered =
        count > 1 || block != ConvBlock::conv ? fmt::format("{}_{}", name, i + 1) : name;
    const std::int64_t step = i == 0 ? stride : 1;
    switch (block) {
      case ConvBlock::basic:
        walk.basic(numbered, channels, step);
        break;
      case ConvBlock::bottleneck:
        walk.bottleneck(numbered, channels, step, kernel);
        break;
      case ConvBlock::mbconv:
        walk.mbconv(numbered, channels, step, kernel, expand);
        break;
      case ConvBlock::conv: {
        const std::int64_t groups =
            item.integer("groups", {.fallback = 1, .min = 1, .max = kMaxChannels});
        if (walk.channels % groups != 0 || channels % groups != 0)
          item.problem("groups", fmt::format("{} does not divide the channels, {} in and {} out",
                                             groups, walk.channels, channels));
        ConvLayer& layer =
            walk.conv(numbered, channels, kernel, step, walk.channels % groups == 0 ? groups : 1);
        layer.kernel_w = item.integer("kernel_w", {.fallback = 0, .min = 0, .max = 64});
        layer.batch_norm = item.boolean("batch_norm", true);
        layer.residual_add = item.boolean("residual_add", false);
        break;
      }
    }
  }
  walk.layers.back().pool = pool;
  walk.size = conv_output(walk.size, pool);
  item.done();
}
}  // namespace

CnnSpec read_cnn(ObjectReader& reader) {
  CnnSpec model;
  model.image = reader.integer("image", {.fallback = 224, .min = 1, .max = kMaxSize});
  model.classes = reader.integer("classes", {.fallback = 1000, .min = 1, .max = 1 << 24});
  Walk walk{model.layers, 3, model.image};
  const std::vector<ObjectReader> items = reader.objects("layers");
  for (std::size_t i = 0; i < items.size(); ++i) read_item(items[i], walk, i);
  if (items.empty())
    reader.problem("layers", "has no entry; kind \"cnn\" needs at least one convolution");
  const bool flatten =
      reader.boolean("flatten", false);  // VGG: the classifier sees every position, not their mean
  const std::int64_t channels =
      reader.integer("features", {.fallback = walk.channels, .min = 1, .max = 1 << 24});
  model.features = channels * (flatten ? walk.size * walk.size : 1);
  model.hidden_fc = reader.integers("hidden_fc", {.min = 1, .max = 1 << 24});
  return model;
}
}  // namespace stepcast
