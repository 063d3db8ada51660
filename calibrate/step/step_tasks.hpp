#pragma once
#include "calibrate/measure/bench.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast::calibrate {
/// The scenario's step and, in turns with it, the pieces that forecast it: its ops one by one, its
/// collectives, its compressor, and what the one costs the other where they overlap. A machine's
/// speed drifts within seconds by more than a forecast may be off, so pieces and step are measured
/// in the same rounds; no piece is taken from the step itself. Rounds end when the median step is
/// known to the rule's half width, or with the time.
Task step_task(const Scenario& scenario);
}  // namespace stepcast::calibrate
