#include "sim/io/object_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/io/json.hpp"

namespace stepcast {
namespace {
const Json& empty_object() {
  static const Json empty = Json::object();
  return empty;
}
/// Of at most 60 bytes, so that a hostile file cannot flood a terminal.
std::string shortened(std::string text) {
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}
std::string described(const Json& value) {
  return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}
/// Whole numbers with all their digits up to 2^53; 1.04858e+06 would be neither the bound nor
/// readable.
std::string in_words(double value) {
  const bool is_whole = value == std::floor(value) && std::abs(value) <= 9007199254740992.0;
  return is_whole ? fmt::format("{:.0f}", value) : fmt::format("{:g}", value);
}
}  // namespace

ObjectReader::ObjectReader(const Json& node, std::string file, std::string pointer,
                           Problems& problems)
    : node_(&node), file_(std::move(file)), pointer_(std::move(pointer)), problems_(&problems) {
  if (!node.is_object()) {
    problems_->add({file_, pointer_.empty() ? "/" : pointer_,
                    "found " + described(node) + ", expected an object", ""});
    node_ = &empty_object();
  }
}

bool ObjectReader::has(const std::string& key) const { return node_->contains(key); }

const Json* ObjectReader::find(const std::string& key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.push_back(key);
  const auto it = node_->find(key);
  return it == node_->end() ? nullptr : &*it;
}
const Json* ObjectReader::raw(const std::string& key) { return find(key); }

void ObjectReader::problem(const std::string& key, std::string message, std::string hint) {
  const std::string place =
      key.empty() ? (pointer_.empty() ? "/" : pointer_) : pointer_ + "/" + key;
  problems_->add({file_, place, std::move(message), std::move(hint)});
}
void ObjectReader::missing(const std::string& key, const char* kind) {
  const std::string near = nearest_name(key, keys());
  problem(key, std::string("is missing; ") + kind + " is expected",
          near.empty() ? "" : "is \"" + near + "\" meant to be it?");
}
void ObjectReader::unknown_choice(const std::string& key, const std::string& found,
                                  const std::vector<std::string>& known) {
  const std::string near = nearest_name(found, known);
  std::vector<std::string> shown = known;
  if (shown.size() > 24) {
    shown.resize(24);
    shown.push_back("...");
  }
  problem(key, "\"" + found + "\" is not one of " + joined(shown),
          near.empty() ? "" : "did you mean \"" + near + "\"?");
}

bool ObjectReader::checked_number(const Json& value, const std::string& key, double min, double max,
                                  double& out) {
  if (!value.is_number()) {
    problem(key, "found " + described(value) + ", expected a number",
            value.is_string() ? "units belong in the key name, the value is a bare number" : "");
    return false;
  }
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < min || number > max) {
    problem(key, fmt::format("{} is outside {} to {}",
                             value.is_number_float() ? in_words(number) : described(value),
                             in_words(min), in_words(max)));
    return false;
  }
  out = number;
  return true;
}

double ObjectReader::number(const std::string& key, NumberField field) {
  const Json* value = find(key);
  double out = field.fallback.value_or(field.min);
  if (value == nullptr) {
    if (!field.fallback) missing(key, "a number");
    return out;
  }
  checked_number(*value, key, field.min, field.max, out);
  return out;
}
std::optional<double> ObjectReader::optional_number(const std::string& key, NumberField range) {
  const Json* value = find(key);
  double out = 0;
  if (value == nullptr || !checked_number(*value, key, range.min, range.max, out))
    return std::nullopt;
  return out;
}
std::int64_t ObjectReader::integer(const std::string& key, IntegerField field) {
  if (const auto value = optional_integer(key, field)) return *value;
  if (!field.fallback && !has(key)) missing(key, "a whole number");
  return field.fallback.value_or(field.min);
}
std::optional<std::int64_t> ObjectReader::optional_integer(const std::string& key,
                                                           IntegerField range) {
  const Json* value = find(key);
  double out = 0;
  if (value == nullptr || !checked_number(*value, key, static_cast<double>(range.min),
                                          static_cast<double>(range.max), out))
    return std::nullopt;
  if (out != std::floor(out)) {
    problem(key, "found " + described(*value) + ", expected a whole number");
    return std::nullopt;
  }
  return static_cast<std::int64_t>(out);
}
bool ObjectReader::boolean(const std::string& key, std::optional<bool> fallback) {
  const Json* value = find(key);
  if (value == nullptr) {
    if (!fallback) missing(key, "true or false");
    return fallback.value_or(false);
  }
  if (!value->is_boolean()) {
    problem(key, "found " + described(*value) + ", expected true or false");
    return fallback.value_or(false);
  }
  return value->get<bool>();
}
std::string ObjectReader::text(const std::string& key, std::optional<std::string> fallback) {
  const Json* value = find(key);
  if (value == nullptr) {
    if (!fallback) missing(key, "a string");
    return fallback.value_or("");
  }
  if (!value->is_string()) {
    problem(key, "found " + described(*value) + ", expected a string");
    return fallback.value_or("");
  }
  return value->get<std::string>();
}
std::optional<ObjectReader> ObjectReader::object(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return ObjectReader(*value, file_, pointer_ + "/" + key, *problems_);
}
std::vector<ObjectReader> ObjectReader::objects(const std::string& key) {
  std::vector<ObjectReader> list;
  const Json* value = find(key);
  if (value == nullptr) return list;
  if (!value->is_array()) {
    problem(key, "found " + described(*value) + ", expected an array of objects");
    return list;
  }
  for (std::size_t i = 0; i < value->size(); ++i)
    list.emplace_back((*value)[i], file_, pointer_ + "/" + key + "/" + std::to_string(i),
                      *problems_);
  return list;
}
std::vector<double> ObjectReader::numbers(const std::string& key, NumberField range) {
  std::vector<double> list;
  const Json* value = find(key);
  if (value == nullptr) return list;
  if (!value->is_array()) {
    problem(key, "found " + described(*value) + ", expected an array of numbers");
    return list;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    double out = 0;
    if (checked_number((*value)[i], key + "/" + std::to_string(i), range.min, range.max, out))
      list.push_back(out);
  }
  return list;
}
std::vector<std::int64_t> ObjectReader::integers(const std::string& key, IntegerField range) {
  std::vector<std::int64_t> list;
  for (const double value : numbers(
           key, {.min = static_cast<double>(range.min), .max = static_cast<double>(range.max)})) {
    if (value != std::floor(value))
      problem(key, "holds " + in_words(value) + ", expected whole numbers");
    else
      list.push_back(static_cast<std::int64_t>(value));
  }
  return list;
}
std::vector<std::string> ObjectReader::texts(const std::string& key) {
  std::vector<std::string> list;
  const Json* value = find(key);
  if (value == nullptr) return list;
  if (!value->is_array()) {
    problem(key, "found " + described(*value) + ", expected an array of strings");
    return list;
  }
  for (const Json& item : *value) {
    if (item.is_string())
      list.push_back(item.get<std::string>());
    else
      problem(key, "holds " + described(item) + ", expected strings");
  }
  return list;
}
std::vector<std::string> ObjectReader::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, value] : node_->items()) all.push_back(key);
  return all;
}
void ObjectReader::done() {
  for (const auto& [key, value] : node_->items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    const std::string near = nearest_name(key, asked_);
    problem(shortened(key), "is not a known key",
            near.empty() ? "known keys here: " + joined(asked_) : "did you mean \"" + near + "\"?");
  }
}
}  // namespace stepcast
