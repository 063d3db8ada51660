#include "calibrate/profile/compression_factors.hpp"

namespace stepcast::calibrate {
void add_compression_factors(const std::vector<Entry>& entries, int /*ranks*/, Profile& profile) {
  for (const Entry& entry : entries)
    if (entry.key.starts_with("compress/")) {
      profile.datasheet_only.emplace_back(
          "compressors: measured, but this build has no simulator to compare them with");
      return;
    }
}
}  // namespace stepcast::calibrate
