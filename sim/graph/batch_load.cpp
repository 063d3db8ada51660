#include "sim/graph/batch_load.hpp"

#include "sim/timeline/op_names.hpp"

namespace stepcast {
void load_batch(const StageContext& context, ProgramWriter& writer, const Work& work,
                std::vector<int>& after) {
  if (!context.scenario().data || !work.is_forward()) return;
  const bool takes_inputs = context.is_first_stage() && work.chunk == 0,
             takes_targets = context.is_last_stage() && work.chunk + 1 == context.chunks();
  if (!takes_inputs && !takes_targets) return;
  GraphOp load{.kind = GraphOp::Kind::load,
               .lane = Lane::loader,
               .category = Category::data_stall,
               .name = std::string(op::data),
               .micro_batch = work.micro_batch,
               .chunk = work.chunk};
  if (const int before = writer.last_on(Lane::compute); before >= 0) load.after = {before};
  after.push_back(writer.append(std::move(load)));
}
}  // namespace stepcast
