#pragma once
#include <cstdint>

#include "sim/workload/model_spec.hpp"

namespace stepcast {
/// Tokens that the output head predicts of `tokens`: all of a decoder's, the masked ones of BERT's,
/// which are gathered before the head. Source: 15 % (Devlin et al., "BERT", 2018); 20 of 128 and 80
/// of 512 positions (max_predictions_per_seq, NVIDIA/DeepLearningExamples@729963dd).
inline std::int64_t predicted_tokens(const TransformerSpec& model, std::int64_t tokens) {
  return model.is_encoder_with_mlm_head ? (tokens * 20 + 127) / 128 : tokens;
}
}  // namespace stepcast
