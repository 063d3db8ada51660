#pragma once
#include <string>

#include "sim/profile/profile.hpp"

namespace stepcast {
/// The profile as it is stored: the same profile gives the same bytes. Objects take one line per
/// key, arrays of numbers one line, so that a changed fit shows as a changed line.
std::string text_of_profile(const Profile& profile);
}  // namespace stepcast
