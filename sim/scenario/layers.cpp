#include "sim/scenario/layers.hpp"

namespace stepcast {
namespace {
bool is_at_or_under(const std::string& place, const std::string& pointer) {
  return place == pointer || (place.starts_with(pointer) && place[pointer.size()] == '/');
}

bool resolves(const Json& document, const std::string& pointer) {
  const Json* node = &document;
  std::size_t begin = 1;
  while (begin <= pointer.size()) {
    const auto slash = std::min(pointer.find('/', begin), pointer.size());
    const std::string key = pointer.substr(begin, slash - begin);
    begin = slash + 1;
    if (node->is_object()) {
      const auto it = node->find(key);
      if (it == node->end()) return false;
      node = &*it;
    } else if (node->is_array()) {
      const bool is_index = !key.empty() && key.size() < 7 &&
                            key.find_first_not_of("0123456789") == std::string::npos;
      if (!is_index || std::stoul(key) >= node->size()) return false;
      node = &(*node)[std::stoul(key)];
    } else {
      return false;
    }
  }
  return true;
}
}  // namespace

namespace {
void lay_over(Json& document, const Layer& layer) {
  if (layer.prefix.empty()) return merge_json(document, layer.content);
  Json placed;
  placed[Json::json_pointer(layer.prefix)] = layer.content;
  merge_json(document, placed);
}
}  // namespace

Json LayeredDocument::merged() const {
  Json document = Json::object();
  for (const Layer& layer : layers_) lay_over(document, layer);
  return document;
}

Json LayeredDocument::presets() const {
  Json document = Json::object();
  for (const Layer& layer : layers_)
    if (!layer.prefix.empty()) lay_over(document, layer);
  return document;
}

Problem LayeredDocument::placed(Problem problem) const {
  if (problem.file != main_file_ || problem.place.empty() || problem.place[0] != '/')
    return problem;
  for (const std::string& pointer : set_pointers_)
    if (is_at_or_under(problem.place, pointer)) {
      problem.file = "--set";
      return problem;
    }
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    if (!layer->prefix.empty() && !is_at_or_under(problem.place, layer->prefix)) continue;
    const std::string inner = problem.place.substr(layer->prefix.size());
    if (inner.empty() || !resolves(layer->content, inner)) continue;
    problem.file = layer->file;
    problem.place = inner;
    return problem;
  }
  for (const std::string& pointer :
       set_pointers_)  // a container that exists only because a setting reached into it
    if (is_at_or_under(pointer, problem.place)) {
      problem.file = "--set";
      return problem;
    }
  return problem;  // a missing key belongs into the file that the person named
}
}  // namespace stepcast
