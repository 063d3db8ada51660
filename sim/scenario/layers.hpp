#pragma once
#include <string>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/io/json.hpp"

/// Private to sim/scenario: which file a value of the merged document came from.
namespace stepcast {

/// A document, or the part of one that stands under `prefix` ("/model" for a model preset).
struct Layer {
  std::string file, prefix;
  Json content;
};

/// The layers of one scenario, weakest first. A scenario file lies above its includes, and those
/// above the presets, so that what a person wrote wins; a problem is reported in the file whose
/// text has to change.
class LayeredDocument {
 public:
  explicit LayeredDocument(std::string main_file) : main_file_(std::move(main_file)) {}
  void add_on_top(Layer layer) { layers_.push_back(std::move(layer)); }
  void add_at_bottom(Layer layer) { layers_.insert(layers_.begin(), std::move(layer)); }
  std::size_t size() const { return layers_.size(); }
  const std::vector<Layer>& layers() const { return layers_; }
  /// Settings changed the value at `pointer`: its problems are theirs.
  void mark_setting(std::string pointer) { set_pointers_.push_back(std::move(pointer)); }
  /// Every layer on top of the other.
  Json merged() const;
  /// The presets and their defaults alone, every layer on top of the other.
  Json presets() const;
  /// The problem with the file, and the pointer within it, that hold the offending value.
  Problem placed(Problem problem) const;

 private:
  std::string main_file_;
  std::vector<Layer> layers_;
  std::vector<std::string> set_pointers_;
};

/// The content of scenarios/<kind>/<name>.json without its notes to the reader ("description",
/// "source", "sources"). Unknown names are a problem at `place` with the nearest known one.
Result<Json> read_preset(const std::string& kind, const std::string& name, const std::string& file,
                         const std::string& place);
}  // namespace stepcast
