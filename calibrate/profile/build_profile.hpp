#pragma once
#include "calibrate/measure/journal.hpp"
#include "runtime/device/device.hpp"
#include "sim/profile/profile.hpp"

namespace stepcast::calibrate {
struct MeasuredOn {
  std::string profile_name;  // names the GPU entry as well
  runtime::DeviceInfo device;
  std::string backend;
  int ranks = 1;
  std::string conditions;  // "real-time priority", "ordinary priority"
};
/// Entries of a calibration as a cost profile. Peaks that no datasheet states are the best rate
/// that was measured. Parts without measurements stay out and are named in datasheet_only. Pure.
Profile build_profile(const std::vector<Entry>& entries, const MeasuredOn& on);
}  // namespace stepcast::calibrate
