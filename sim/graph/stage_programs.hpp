#pragma once
#include "sim/graph/stage_context.hpp"

namespace stepcast {
/// The two shapes of a stage's step: parameters held by every replica (plain data parallel, ZeRO-1,
/// ZeRO-2), or gathered layer by layer as they are needed (ZeRO-3, FSDP).
StageGraph replicated_program(const StageContext& context);
StageGraph sharded_program(const StageContext& context);
}  // namespace stepcast
