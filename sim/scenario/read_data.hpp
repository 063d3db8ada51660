#pragma once
#include <string>
#include <vector>

#include "sim/io/object_reader.hpp"
#include "sim/scenario/data_spec.hpp"
#include "sim/workload/model_spec.hpp"
#include "sim/workload/training_spec.hpp"

/// Private to sim/scenario.
namespace stepcast {
/// What the defaults of "data" depend on.
struct DataContext {
  const ModelSpec& model;
  const TrainingSpec& training;
  int gpus_per_node = 1;
};
/// Reads "data" after its storage preset was merged in; defaults that depend on the context are
/// added to `notes`.
DataSpec read_data(ObjectReader reader, const DataContext& context,
                   std::vector<std::string>& notes);
}  // namespace stepcast
