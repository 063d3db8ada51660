#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Private to sim/import/k8s: the two little languages among Megatron-LM's flags.
namespace stepcast::k8s {
/// Transformer layers of each chunk of --pipeline-model-parallel-layout: 't' is a layer, '|' ends a
/// chunk, E, m and L (embedding, multi-token prediction, loss) count none, "x*N" and "(...)*N"
/// repeat: "Et*3|(tt|)*2L" -> 3, 2, 2, 0. nullopt for anything else or for more than 4096 chunks.
std::optional<std::vector<int>> layers_of_layout(const std::string& text);
/// Dense layers in front of --moe-layer-freq "([0]*3+[1]*58)"; nullopt for other patterns.
std::optional<std::int64_t> leading_dense_layers(const std::string& text);
}  // namespace stepcast::k8s
