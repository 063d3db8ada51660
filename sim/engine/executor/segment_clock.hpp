#pragma once
#include <algorithm>

#include "sim/engine/job.hpp"

namespace stepcast {
/// When does a segment end on a GPU whose speed may change under way? Work is counted in GPU
/// seconds at full speed.
///
/// The GPU's own chain needs `work` from the start on; the host's j-th launch at h_j leaves
/// `left_j` to be done from h_j on (Segment::bounds). With the speed constant, finish = max(start +
/// work / speed, max_j h_j + left_j / speed). A change of speed keeps what was achieved: launches
/// that are past become a lower bound on the progress to be reached.
///
///     progress   /´´ speed 1
///               /
///          __--´   speed < 1 while messages of this worker are on the wire
class SegmentClock {
 public:
  void start(const Segment& segment, double now, double host_start, double slowdown) {
    segment_ = &segment;
    slowdown_ = slowdown;
    host_start_ = host_start;
    start_ = since_ = now;
    work_ = needed_ = slowdown * segment.scaled + segment.fixed;
    progress_ = 0;
    speed_ = 1;
  }
  /// Share of the work that a slower GPU stretches.
  double scaled_share() const { return work_ > 0 ? slowdown_ * segment_->scaled / work_ : 0; }

  void set_speed(double now, double speed) {
    for (const Segment::Bound& bound : segment_->bounds) {
      const double issued = host_start_ + bound.issued;
      if (issued > since_ && issued <= now)
        needed_ = std::max(needed_, progress_ + speed_ * (issued - since_) + left_of(bound));
    }
    progress_ += speed_ * (now - since_);
    since_ = now;
    speed_ = speed;
  }
  double finish() const {
    double finish = since_ + std::max(0.0, needed_ - progress_) / speed_;
    for (const Segment::Bound& bound : segment_->bounds) {
      const double issued = host_start_ + bound.issued;
      if (issued > since_) finish = std::max(finish, issued + left_of(bound) / speed_);
    }
    return finish;
  }
  /// Of [start, now]: seconds in which the GPU had nothing to run because the host had not issued
  /// it.
  double launch_gap(double now) const {
    const double reached = progress_ + speed_ * (now - since_);
    const double spare = reached - work_;
    return spare > 1e-12 * reached ? (now - start_) * spare / reached : 0;
  }
  const Segment& segment() const { return *segment_; }
  double start_date() const { return start_; }
  double host_start() const { return host_start_; }
  double slowdown() const { return slowdown_; }

 private:
  double left_of(const Segment::Bound& bound) const {
    return slowdown_ * bound.scaled_left + bound.fixed_left;
  }

  const Segment* segment_ = nullptr;
  double slowdown_ = 1, host_start_ = 0, start_ = 0, since_ = 0;
  double work_ = 0, needed_ = 0, progress_ = 0, speed_ = 1;
};
}  // namespace stepcast
