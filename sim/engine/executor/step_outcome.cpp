// What a finished (or stuck) step has to say.
#include <algorithm>
#include <string>

#include "sim/core/assert.hpp"
#include "sim/engine/executor/step_run.hpp"

namespace stepcast {

void StepRun::report_deadlock() const {
  std::string text = "the step cannot go on:";
  int named = 0;
  for (std::uint32_t worker = 0; worker < workers_.size() && named < 2; ++worker) {
    if (workers_[worker].is_done) continue;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (!has_head(worker, lane)) continue;
      const ProgramOp& op = head(worker, lane);
      text += std::string(named++ > 0 ? ";" : "") + " worker " + std::to_string(worker) +
              " (stage " + std::to_string(job_.workers[worker].stage) + ", replica " +
              std::to_string(job_.workers[worker].replica) + ") waits in '" +
              job_.names.text_of(op.name) + "' (op " +
              std::to_string(workers_[worker].lanes[lane].done) + " of lane " +
              std::string(stepcast::text_of(static_cast<Lane>(lane))) +
              (workers_[worker].lanes[lane].is_busy ? ", started)" : ", not started)");
      break;
    }
  }
  throw InternalError(text);
}

std::vector<LinkLoad> StepRun::busiest_links(double step) const {
  constexpr std::size_t kMost = 10;
  std::vector<LinkLoad> loads;
  const auto is_busier = [](const LinkLoad& a, const LinkLoad& b) {
    return a.utilisation != b.utilisation ? a.utilisation > b.utilisation : a.name < b.name;
  };
  for (std::size_t link = 0; link < job_.links.size(); ++link) {
    const double bytes = network_.bytes_carried(static_cast<LinkId>(link)),
                 capacity = job_.links[link].capacity.value;
    if (bytes <= 0 || step <= 0) continue;
    LinkLoad load{job_.links[link].name, bytes, capacity, bytes / (capacity * step)};
    if (loads.size() == kMost && !is_busier(load, loads.back())) continue;
    if (loads.size() == kMost) loads.pop_back();
    loads.insert(std::upper_bound(loads.begin(), loads.end(), load, is_busier), std::move(load));
  }
  return loads;
}

StepOutcome StepRun::outcome() {
  StepOutcome out;
  for (const WorkerState& state : workers_) out.step_s = std::max(out.step_s, state.finish);
  // Last to finish; workers that end together (within rounding) are told apart by how much they
  // compute.
  for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) {
    const WorkerState &state = workers_[worker], &best = workers_[out.critical_worker];
    const bool is_last = state.finish >= out.step_s * (1 - 1e-12),
               best_is_last = best.finish >= out.step_s * (1 - 1e-12);
    if (is_last && (!best_is_last || state.compute_seconds > best.compute_seconds * (1 + 1e-12)))
      out.critical_worker = worker;
  }
  const int critical_stage = job_.workers[out.critical_worker].stage;
  for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) {
    WorkerState& state = workers_[worker];
    // A replica that is done waits for its peers; another stage is outside its part of the
    // pipeline.
    const Category idle =
        job_.workers[worker].stage == critical_stage ? Category::straggler_wait : Category::bubble;
    state.breakdown[static_cast<std::size_t>(idle)] += out.step_s - state.finish;
    out.finish_s.push_back(state.finish);
    out.per_worker.push_back(state.breakdown);
  }
  out.breakdown = out.per_worker[out.critical_worker];
  out.busiest = busiest_links(out.step_s);
  out.payload_bytes = payload_;
  out.events = network_.events();
  record_loaders();
  if (recorder_) out.timeline = recorder_->take();
  out.op_times = std::move(op_times_);
  return out;
}

StepOutcome execute_step(const Job& job, Network& network, const ExecuteOptions& options) {
  return StepRun(job, network, options).run();
}
}  // namespace stepcast
