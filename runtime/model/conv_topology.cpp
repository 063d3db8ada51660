#include "runtime/model/conv_topology.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "sim/workload/op_makers.hpp"

namespace stepcast::runtime {

ConvExtent extent_of(const ConvLayer& layer) {
  const std::int64_t h = conv_output(layer.h, layer.stride), w = conv_output(layer.w, layer.stride);
  return {h, w, conv_output(h, layer.pool), conv_output(w, layer.pool)};
}

namespace {
using Shape = std::array<std::int64_t, 3>;  // channels, height, width
std::string text_of_shape(const Shape& s) { return fmt::format("{} x {} x {}", s[0], s[1], s[2]); }

std::string block_of(const std::string& name) {
  const std::size_t at = name.rfind('_');
  return at == std::string::npos ? name : name.substr(0, at);
}

void check_kernels(const CnnSpec& model, const ConvLayer& l, const std::string& place,
                   Problems& problems) {
  const auto refuse = [&](const char* what, const char* hint) {
    problems.add({"training step", place, what, hint});
  };
  if (l.squeeze_excite) refuse("has squeeze-and-excite", "the runtime trains without it");
  if (l.pool > 2) refuse("pools by more than 2", "the runtime's pooling has stride 2");
  if (!l.batch_norm && (l.residual_add || !l.activation))
    refuse("has neither batch norm nor an activation of its own",
           "residual blocks have batch norm");
  if (&l == &model.layers.back() && l.pool > 1 && model.features != l.c_out)
    refuse("pools before a classifier that sees every position", "pool the features instead");
}
}  // namespace

std::vector<ConvNode> conv_topology(const CnnSpec& model, Problems& problems) {
  constexpr std::string_view kShortcut = "_shortcut";
  std::vector<ConvNode> nodes;
  std::map<std::string, int> input_of, shortcut_of;  // of a block
  int current = ConvNode::kImage;
  const auto shape_of = [&](int tensor) -> Shape {
    if (tensor == ConvNode::kImage) return {3, model.image, model.image};
    const ConvLayer& l = model.layers[static_cast<std::size_t>(tensor)];
    const ConvExtent extent = extent_of(l);
    return {l.c_out, extent.pooled_h, extent.pooled_w};
  };
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const ConvLayer& l = model.layers[i];
    const std::string place = fmt::format("/model/layers ({})", l.name), block = block_of(l.name);
    const bool is_shortcut = l.name.ends_with(kShortcut);
    input_of.try_emplace(block, current);
    ConvNode node{.input = current};
    if (l.residual_add) {
      const auto shortcut = shortcut_of.find(block);
      node.skip = shortcut != shortcut_of.end() ? shortcut->second : input_of[block];
    }
    check_kernels(model, l, place, problems);
    if (const Shape read{l.c_in, l.h, l.w}; read != shape_of(node.input))
      problems.add({"training step", place,
                    fmt::format("reads {}, the layer before gives {}", text_of_shape(read),
                                text_of_shape(shape_of(node.input))),
                    "the runtime trains chains of layers and residual blocks, no branches"});
    const ConvExtent out = extent_of(l);
    if (node.skip == ConvNode::kImage)
      problems.add({"training step", place, "joins its output with the image itself",
                    "start a residual block behind a first layer"});
    else if (node.skip != ConvNode::kNone && shape_of(node.skip) != Shape{l.c_out, out.h, out.w})
      problems.add({"training step", place,
                    fmt::format("joins {} with {}", text_of_shape({l.c_out, out.h, out.w}),
                                text_of_shape(shape_of(node.skip))),
                    "a residual sum needs equal shapes"});
    nodes.push_back(node);
    if (is_shortcut)
      shortcut_of[block] = static_cast<int>(i);
    else
      current = static_cast<int>(i);
  }
  return nodes;
}
}  // namespace stepcast::runtime
