#pragma once
#include "sim/workload/model_spec.hpp"

namespace stepcast {
/// Layers that pipeline stages share out: transformer blocks, convolutions, custom layers. 1 for a
/// dlrm.
int block_count(const ModelSpec& model);
/// Whether block `index` of a mixture has experts.
bool has_experts(const TransformerSpec& model, std::int64_t index);
/// Sum over all matrix products of one sample's forward, multiply-add as two, times three for
/// forward and backward. Attention counts the full square also when causal: the convention of
/// published MFU (Narayanan 2021, 72 B L s h^2 (1 + s/6h + V/12hL)). A mixture counts the experts a
/// token visits.
Flops model_flops_per_sample(const ModelSpec& model, std::int64_t sequence_length);
}  // namespace stepcast
