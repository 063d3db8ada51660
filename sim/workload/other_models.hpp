#pragma once
#include "sim/workload/model_work.hpp"
#include "sim/workload/shard.hpp"

namespace stepcast {
/// Convolutional networks: every convolution with its batch norm and activation is a block; pooling
/// and classifier come after.
CnnSpec read_cnn(ObjectReader& reader);
ModelWork cnn_work(const CnnSpec& model, const Shard& shard);
double cnn_forward_flops(const CnnSpec& model);
std::int64_t cnn_parameters(const CnnSpec& model);

/// Recommender: embedding bags dealt out over all ranks with all-to-all around them, the rest data
/// parallel (Naumov 2019).
DlrmSpec read_dlrm(ObjectReader& reader);
ModelWork dlrm_work(const DlrmSpec& model, const Shard& shard);
double dlrm_forward_flops(const DlrmSpec& model);
std::int64_t dlrm_parameters(const DlrmSpec& model);

/// Layers stated in amounts.
std::vector<CustomLayer> read_custom(ObjectReader& reader);
ModelWork custom_work(const std::vector<CustomLayer>& layers, const Shard& shard);
}  // namespace stepcast
