#pragma once

/// What work on a side stream costs the compute stream, and the reverse. Numbers in, factors out.
namespace stepcast::calibrate {

/// Seconds from a common start to the end of either stream's work: each alone, then both at once.
struct SideBySide {
  double compute_alone = 0, side_alone = 0, compute = 0, side = 0;
};
struct Interference {
  double compute = 1;  // factor on compute's time while the side works
  double side = 1;     // factor on the side's time while compute runs
};

/// Factors above this are not told apart: a share of 95 % of the device is gone (the profile's
/// limit).
inline constexpr double kLargestSlowdown = 20;

/// While both run, for o = min(compute, side) seconds, compute gets done what takes it
/// o - (compute - compute_alone) alone; the quotient of the two is its factor. The same for the
/// side. What runs longer than the other goes at full speed behind it.
Interference interference_of(const SideBySide& times);

/// The factor on compute for side work that is itself charged at the time it takes alone: what
/// compute loses per second of it is gone, however long the two then stand beside each other.
double slowdown_by_charged_work(const SideBySide& times);
}  // namespace stepcast::calibrate
