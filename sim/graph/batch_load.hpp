#pragma once
#include <vector>

#include "sim/graph/program_writer.hpp"
#include "sim/graph/stage_context.hpp"

namespace stepcast {
/// A pass that reads samples: the first chunk's forward takes the inputs, the last one's the
/// targets. Appends the op that takes the batch from the loader when the compute lane is free for
/// the pass, and adds it to what the pass waits for. Nothing where the scenario has no `data`.
void load_batch(const StageContext& context, ProgramWriter& writer, const Work& work,
                std::vector<int>& after);
}  // namespace stepcast
