#pragma once
#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/model/model.hpp"
#include "sim/workload/parallel_layout.hpp"

namespace stepcast::runtime {
/// What the runtime cannot run of a recommender that the simulator can, each with what it can.
void check_recommender(const ModelSpec& model, const ParallelLayout& layout, Problems& problems);

struct RecommenderPlan {
  DlrmSpec model;
  TrainingSpec training;
  std::uint64_t seed = 1;
  float table_rate = 0.1f;  // learning rate of the tables' plain SGD
  int micro_batches = 1;
};
/// DLRM (Naumov et al. 2019, arXiv:1906.00091): MLPs replicated, embedding tables dealt out over
/// the ranks of `world` in blocks. Indices travel to the tables' owners and pooled rows back by
/// all-to-all. Tables are updated inside the backward, by plain SGD on the touched rows. `world`
/// must outlive the model. MLP parameters are laid out but not allocated; tables are filled through
/// `setup`.
std::unique_ptr<Model> new_recommender(Device& device, Stream& setup, Communicator& world,
                                       const RecommenderPlan& plan);
}  // namespace stepcast::runtime
