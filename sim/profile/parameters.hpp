#pragma once
#include <map>
#include <string>

namespace stepcast {
/// A fitted parameter of a profile (KernelProfile::parameters, CollectiveProfile::parameters), in
/// the unit that its name ends in; `fallback` where the profile was calibrated without it.
inline double parameter(const std::map<std::string, double>& parameters, const std::string& name,
                        double fallback) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? fallback : found->second;
}
}  // namespace stepcast
