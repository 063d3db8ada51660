#include "sim/engine/lowering/step_shape.hpp"

#include <algorithm>

#include "sim/engine/executor/segment_clock.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast {

StepShape step_shape(const Program& program, const NameTable& names, double gather_ranks) {
  StepShape shape;
  const std::vector<ProgramOp>& compute = program.lanes[static_cast<std::size_t>(Lane::compute)];
  const auto is_named = [&](const ProgramOp& op, std::string_view name) {
    return names.text_of(op.name) == name;
  };
  std::size_t first_end = 0,
              last_forward = 0;  // ops of the first forward; one past the last forward
  for (std::size_t i = 0; i < compute.size(); ++i) {
    if (!is_named(compute[i], phase::forward)) continue;
    last_forward = i + 1;
    if (compute[i].micro_batch <= 0) first_end = i + 1;
  }

  // Each op's time when it follows the one before it at once, host issue included.
  double gpu = 0, host = 0;
  std::vector<SyncCompute> times;
  std::vector<double> ends;
  for (const ProgramOp& op : compute) {
    SyncCompute t;
    if (op.kind == GraphOp::Kind::work) {
      const Segment& segment = program.segments[op.index];
      SegmentClock clock;
      clock.start(segment, gpu, host, 1);
      const double end = std::max(gpu, clock.finish());
      host += segment.host;
      t = {segment.scaled, std::max(0.0, end - gpu - segment.scaled)};
      gpu = end;
    } else if (op.kind == GraphOp::Kind::collective) {
      const CollectiveTerms& terms = program.transfers[op.index].terms;
      t = {0, terms.startup.value + terms.intra.value};
      gpu += t.fixed;
    }
    times.push_back(t);
    ends.push_back(gpu);
  }
  const auto add = [](SyncCompute& to, const SyncCompute& t) {
    to.scaled += t.scaled, to.fixed += t.fixed;
  };

  std::vector<std::size_t> cuts;  // by bucket: compute ops that come before it
  const std::vector<ProgramOp>& lane = program.lanes[static_cast<std::size_t>(Lane::gradient)];
  for (const ProgramOp& op : lane) {
    if (op.category == Category::optimizer) continue;  // the gradient norm's sum
    std::size_t after = 0;
    for (std::uint32_t d = 0; d < op.dependency_count; ++d)
      if (const Dependency& x = program.dependencies[op.first_dependency + d];
          x.lane == Lane::compute)
        after = std::max<std::size_t>(after, x.position + 1);
    // A new bucket starts where the lane waits for compute.
    if (shape.buckets.empty() || after > 0) {
      shape.buckets.emplace_back();
      cuts.push_back(std::max(after, cuts.empty() ? std::size_t{0} : cuts.back()));
    }
    StepShape::Bucket& bucket = shape.buckets.back();
    if (op.kind == GraphOp::Kind::work) {
      const Segment& s = program.segments[op.index];
      (is_named(op, op::decode) ? bucket.decode_s : bucket.encode_s) += s.scaled + s.fixed;
    } else {
      bucket.payload_bytes += program.transfers[op.index].payload_bytes / gather_ranks;
    }
  }

  std::size_t next = 0;
  for (std::size_t i = 0; i < compute.size(); ++i) {
    if (compute[i].category == Category::optimizer) {
      add(shape.optimizer, times[i]);
      continue;
    }
    if (i < first_end)
      add(shape.forward, times[i]);
    else if (i < last_forward)
      add(shape.middle, times[i]);
    else {
      if (i == last_forward) shape.backward_start_s = i > 0 ? ends[i - 1] : 0;
      while (next < cuts.size() && cuts[next] <= i) ++next;
      add(next < cuts.size() ? shape.buckets[next].backward : shape.tail, times[i]);
    }
  }
  for (std::size_t b = 0; b < cuts.size(); ++b)
    shape.buckets[b].ready_s = cuts[b] > 0 ? ends[cuts[b] - 1] : 0;
  return shape;
}
}  // namespace stepcast
