#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/enum_text.hpp"
#include "sim/io/json_fwd.hpp"

namespace stepcast {
/// info: worth knowing. warning: a figure may be off. error: something was lost or is wrong.
enum class Severity : std::uint8_t { info, warning, error };
template <>
struct EnumText<Severity> {
  static constexpr std::array<std::pair<Severity, std::string_view>, 3> table{
      {{Severity::info, "info"}, {Severity::warning, "warning"}, {Severity::error, "error"}}};
};

/// One kind of oddity met while importing: how often, where first, and what to do about it.
struct Anomaly {
  std::string name;  // stable, snake_case: what scripts and tests look for
  Severity severity = Severity::warning;
  std::string advice;  // one sentence a person acts on
  std::int64_t count = 0;
  std::vector<std::string> places;  // the first few: "file:line", "file @ byte"
};

/// Nothing is dropped silently: every loss or doubt of an import is counted here under a name.
class Anomalies {
 public:
  void add(std::string_view name, Severity severity, std::string_view advice,
           std::string_view place, std::int64_t count = 1);
  void add(const Anomalies& others);
  const std::vector<Anomaly>& list() const { return list_; }
  std::int64_t count_of(std::string_view name) const;
  bool empty() const { return list_.empty(); }
  /// One paragraph per kind, gravest first; "" when there is none.
  std::string text() const;
  Json json() const;

 private:
  std::vector<Anomaly> list_;
};
}  // namespace stepcast
