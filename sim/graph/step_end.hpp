#pragma once
#include "sim/graph/program_writer.hpp"
#include "sim/graph/stage_context.hpp"

namespace stepcast {
/// What follows the last backward: the tied embedding's all-reduce, gradient norm, clip and update
/// (waiting for every reduction), and the parameter gather of ZeRO-1/2 where it is not hidden
/// behind the next forward.
void end_step(const StageContext& context, ProgramWriter& writer);
/// Gather of updated parameters over the ranks that shard them; -1 when nobody shards.
int gather_parameters(const StageContext& context, ProgramWriter& writer, GroupKind replicas,
                      std::int64_t parameters, std::vector<int> after);
}  // namespace stepcast
