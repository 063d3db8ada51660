#pragma once
#include "sim/workload/model_spec.hpp"
#include "sim/workload/training_spec.hpp"

/// Bounds that keep every count of bytes and elements within 64 bits. They lie far above anything
/// that is trained.
namespace stepcast {
/// Reports a model of more than 1e15 parameters.
void check_model_size(const ModelSpec& model, ObjectReader& reader);
/// Reports a micro-batch of which one layer holds more than 1e16 bytes.
void check_batch_size(const ModelSpec& model, const TrainingSpec& training, const std::string& file,
                      Problems& problems);
}  // namespace stepcast
