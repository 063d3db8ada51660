#include "sim/profile/kernel_profile.hpp"

#include <algorithm>

namespace stepcast {
namespace {
template <class T>
const T* named(const std::vector<T>& list, const std::string& name, std::string T::*member) {
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const T& t) { return t.*member == name; });
  return it == list.end() ? nullptr : &*it;
}
}  // namespace

const KernelFamily* KernelProfile::family(const std::string& name) const {
  return named(families, name, &KernelFamily::name);
}
const BandwidthFit* KernelProfile::bandwidth_of(const std::string& kind) const {
  return named(bandwidth, kind, &BandwidthFit::kind);
}
const FactorCurve* KernelProfile::factor(const std::string& name) const {
  return named(factors, name, &FactorCurve::name);
}
}  // namespace stepcast
