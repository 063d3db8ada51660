#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/import/k8s/yaml.hpp"
#include "sim/io/json.hpp"

/// Private to sim/import/k8s: what a manifest said so far, and what it left open.
namespace stepcast::k8s {
struct Reading {
  std::string file;
  Json scenario = Json::object();
  std::vector<std::string> settings;  // /pointer=value of the user, laid above the scenario last
  std::vector<std::string> read;      // "nodes 4 (line 12)"
  std::vector<std::string> assumed;   // taken although the manifest does not say it
  std::vector<std::string> unknown;   // left to stepcast's defaults
  std::vector<std::string> unused;    // flags and variables that say nothing about a step
  Problems problems;

  void problem(int line, std::string message, std::string hint = "") {
    problems.add({file, "line " + std::to_string(line), std::move(message), std::move(hint)});
  }
  /// Sets a value at a JSON pointer unless something stronger did before.
  void put(const std::string& pointer, Json value) {
    Json& at = scenario[Json::json_pointer(pointer)];
    if (at.is_null()) at = std::move(value);
  }
  /// The user states this value, or an object around it.
  bool is_set(const std::string& pointer) const {
    for (const std::string& setting : settings) {
      const std::string key = setting.substr(0, setting.find('='));
      if (pointer == key || pointer.starts_with(key + "/")) return true;
    }
    return false;
  }
};

/// A whole number of at least `least`; nullopt for anything else.
std::optional<std::int64_t> whole_number(const std::string& text, std::int64_t least = 0);
/// The number a scalar holds; a problem at its line when it is something else.
std::optional<std::int64_t> whole_number(const Yaml& value, const std::string& name,
                                         std::int64_t least, Reading& reading);
/// "$NAME" or "$(...)" is still in it: what it holds is known at run time only.
bool is_open(const std::string& text);
}  // namespace stepcast::k8s
