#pragma once
#include "calibrate/tables/table_set.hpp"
#include "calibrate/tables/targets.hpp"
#include "sim/profile/profile.hpp"

namespace stepcast {
/// The kernel half of a bundled profile, fitted from the tables that `target` names. Deterministic:
/// same tables, same bytes. What no table covers is listed in `datasheet_only`.
Profile fit_profile(TableSet& tables, const ProfileTarget& target);
}  // namespace stepcast
