#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/enum_text.hpp"
#include "sim/core/result.hpp"
#include "sim/io/json_fwd.hpp"

namespace stepcast {

/// A number field: its default (none = required) and its range, both ends included.
struct NumberField {
  std::optional<double> fallback;
  double min = 0;
  double max = 1e18;
};
struct IntegerField {
  std::optional<std::int64_t> fallback;
  std::int64_t min = 0;
  std::int64_t max = std::int64_t{1} << 53;
};

/// Reads one JSON object key by key; collects every problem instead of stopping at the first. After
/// all keys were asked for, `done()` reports the ones nobody asked for, naming the nearest known
/// key. On a problem a reader returns the fallback, or the low end of the range, so that reading
/// goes on.
///   ObjectReader r(json, "jobs/tiny.json", "/parallel", problems);
///   const auto tp = r.integer("tp", {.fallback = 1, .min = 1, .max = 1024});
///   r.done();
class ObjectReader {
 public:
  ObjectReader(const Json& node, std::string file, std::string pointer, Problems& problems);

  bool has(const std::string& key) const;  // does not count as asking
  double number(const std::string& key, NumberField field = {});
  std::optional<double> optional_number(const std::string& key, NumberField range = {});
  std::int64_t integer(const std::string& key, IntegerField field = {});
  std::optional<std::int64_t> optional_integer(const std::string& key, IntegerField range = {});
  bool boolean(const std::string& key, std::optional<bool> fallback = std::nullopt);
  std::string text(const std::string& key, std::optional<std::string> fallback = std::nullopt);
  std::optional<ObjectReader> object(const std::string& key);  // absent: nullopt
  std::vector<ObjectReader> objects(const std::string& key);   // absent: empty
  std::vector<double> numbers(const std::string& key, NumberField range = {});
  std::vector<std::int64_t> integers(const std::string& key, IntegerField range = {});
  std::vector<std::string> texts(const std::string& key);
  /// The raw node for a key (counts as asking), or nullptr.
  const Json* raw(const std::string& key);
  template <class E>
  E one_of(const std::string& key, std::optional<E> fallback = std::nullopt) {
    const std::string found = text(
        key, fallback ? std::optional<std::string>(std::string(text_of(*fallback))) : std::nullopt);
    if (const auto value = enum_from_text<E>(found)) return *value;
    unknown_choice(key, found, enum_texts<E>());
    return fallback ? *fallback : EnumText<E>::table.front().first;
  }
  /// Reports a problem at this object's `key` ("" = the object itself).
  void problem(const std::string& key, std::string message, std::string hint = "");
  void unknown_choice(const std::string& key, const std::string& found,
                      const std::vector<std::string>& known);
  void done();
  const std::string& pointer() const { return pointer_; }
  const std::string& file() const { return file_; }
  std::vector<std::string> keys() const;

 private:
  const Json* find(const std::string& key);  // marks the key as known
  void missing(const std::string& key, const char* kind);
  bool checked_number(const Json& value, const std::string& key, double min, double max,
                      double& out);
  const Json* node_;
  std::string file_, pointer_;
  Problems* problems_;
  std::vector<std::string> asked_;
};
}  // namespace stepcast
