#pragma once
#include <string>

#include "sim/io/json_fwd.hpp"

namespace stepcast {
/// What differs between two step reports: step, throughput and every category, b against a.
/// Throws InputError when either is no step report (`a_name` and `b_name` are the files).
Json comparison_json(const Json& a, const Json& b, const std::string& a_name,
                     const std::string& b_name);
std::string comparison_text(const Json& comparison);
}  // namespace stepcast
