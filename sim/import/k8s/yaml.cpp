#include "sim/import/k8s/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

#include "sim/core/result.hpp"

namespace stepcast::k8s {
namespace {
constexpr int kMostNodes = 1'000'000;
constexpr int kDeepest = 200;

/// YAML::LoadAll adds empty documents until memory ends where a token begins no node ("," alone):
/// the parser stays at it (jbeder/yaml-cpp issue 1040, mended by pull request 1319, newer than
/// Debian's 0.7). Documents that begin where the last one did show that.
class StandstillGuard : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == last_) throw YAML::ParserException(mark, "this begins no value");
    last_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int last_ = -1;
};
void refuse_standstill(const std::string& text) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  StandstillGuard guard;
  while (parser.HandleNextDocument(guard)) {
  }
}

class Unfolding {
 public:
  explicit Unfolding(const std::string& file) : file_(file) {}
  Yaml value_of(const YAML::Node& node, int depth = 0) {
    Yaml out;
    out.line = node.Mark().line + 1;
    if (++nodes_ > kMostNodes || depth > kDeepest)
      throw InputError(Problem{file_, fmt::format("line {}", out.line),
                               "unfolds to more than a manifest can hold",
                               "aliases that repeat each other grow without end"});
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        out.kind = Yaml::Kind::scalar;
        out.text = node.Scalar();
        break;
      case YAML::NodeType::Sequence:
        out.kind = Yaml::Kind::list;
        for (const YAML::Node& item : node) out.items.push_back(value_of(item, depth + 1));
        break;
      case YAML::NodeType::Map:
        out.kind = Yaml::Kind::map;
        fill_map(node, depth, out);
        break;
      default:
        break;
    }
    return out;
  }

 private:
  void fill_map(const YAML::Node& node, int depth, Yaml& out) {
    std::vector<Yaml> merged;
    for (const auto& entry : node) {
      const Yaml key = value_of(entry.first, depth + 1);
      Yaml value = value_of(entry.second, depth + 1);
      if (value.line == 0) value.line = key.line;
      if (key.text == "<<" && value.is_map()) {
        merged.push_back(std::move(value));
        continue;
      }
      if (out.find(key.text) != nullptr)
        throw InputError(Problem{file_, fmt::format("line {}", key.line),
                                 "\"" + key.text + "\" stands twice in one map", "keep one"});
      out.entries.emplace_back(key.text, std::move(value));
    }
    for (Yaml& map : merged)
      for (auto& [key, value] : map.entries)
        if (out.find(key) == nullptr) out.entries.emplace_back(key, std::move(value));
  }

  const std::string& file_;
  int nodes_ = 0;
};
}  // namespace

const Yaml* Yaml::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

const Yaml* Yaml::at(std::string_view path) const {
  const Yaml* here = this;
  while (here != nullptr && !path.empty()) {
    const std::size_t end = path.find('/');
    here = here->find(path.substr(0, end));
    path = end == std::string_view::npos ? "" : path.substr(end + 1);
  }
  return here;
}

std::vector<Yaml> yaml_documents(const std::string& text, const std::string& file) {
  try {
    refuse_standstill(text);
    std::vector<Yaml> documents;
    Unfolding unfolding(file);
    for (const YAML::Node& node : YAML::LoadAll(text)) {
      Yaml document = unfolding.value_of(node);
      if (document.kind != Yaml::Kind::null) documents.push_back(std::move(document));
    }
    return documents;
  } catch (const YAML::Exception& e) {
    throw InputError(Problem{file, fmt::format("line {}", e.mark.line + 1), "is no YAML: " + e.msg,
                             "kubectl apply --dry-run=client shows the same"});
  }
}
}  // namespace stepcast::k8s
