#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The one door to yaml-cpp: documents as values that know their lines.
namespace stepcast::k8s {
struct Yaml {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  std::string text;  // scalar, as written without its quotes
  int line = 0;      // counted from 1
  std::vector<Yaml> items;
  std::vector<std::pair<std::string, Yaml>> entries;  // in order; merge keys ("<<") resolved

  bool is_map() const { return kind == Kind::map; }
  bool is_list() const { return kind == Kind::list; }
  bool is_scalar() const { return kind == Kind::scalar; }
  /// nullptr where this is no map or has no such key.
  const Yaml* find(std::string_view key) const;
  /// "spec/template/spec" step by step; nullptr where a step is missing.
  const Yaml* at(std::string_view path) const;
};

/// Every document of the text; anchors and aliases are resolved. Throws InputError with the line
/// for what is no YAML, and for text whose aliases unfold to more than a million nodes.
std::vector<Yaml> yaml_documents(const std::string& text, const std::string& file);
}  // namespace stepcast::k8s
