#pragma once
#include <string>
#include <vector>

#include "runtime/launch/rank_place.hpp"
#include "sim/core/units.hpp"

namespace stepcast::calibrate {

/// What `stepcast-calibrate measure` was asked for.
struct CalibrationOptions {
  std::string backend = "cpu";
  std::vector<std::string> suites{"quick"};  // of suite_names()
  std::string output = "cpu.profile.json";
  std::string model = "gpt";          // of step_names(), where no scenario is given
  std::string scenario;               // the step to measure; "": a small transformer
  std::vector<std::string> settings;  // /json/pointer=value on it
  std::string interface;
  Seconds time_limit{120};
  bool is_realtime = false;
  bool is_json = false;
};
/// Measures on this rank and, on rank 0, writes the profile, the scenario of the step and what was
/// measured of it:
///   P.profile.json, P.scenario.json, P.measured.json; P.journal.jsonl while it runs.
/// Throws InputError and EnvironmentError.
void calibrate(const CalibrationOptions& options, const runtime::RankPlace& place);
std::vector<std::string> suite_names();
/// "cpu" of "out/cpu.profile.json", with its folder.
std::string stem_of(const std::string& profile_path);
}  // namespace stepcast::calibrate
