#pragma once
#include "sim/engine/job.hpp"
#include "sim/sync/sync_job.hpp"

namespace stepcast {
/// A program's step on an undisturbed GPU that nobody waits for: what it computes before each
/// gradient bucket is ready, and what the gradient lane does with the bucket. For one pipeline
/// stage.
struct StepShape {
  struct Bucket {
    double ready_s = 0;
    SyncCompute backward;
    double encode_s = 0, decode_s = 0;
    double payload_bytes = 0;
  };
  SyncCompute forward, middle, tail, optimizer;
  std::vector<Bucket> buckets;  // in order of readiness
  double backward_start_s = 0;
};
/// `gather_ranks`: of a compressor whose payloads are gathered, by how many the collective's buffer
/// exceeds one payload; else 1.
StepShape step_shape(const Program& program, const NameTable& names, double gather_ranks);
}  // namespace stepcast
