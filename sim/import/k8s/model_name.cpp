#include <algorithm>
#include <cctype>

#include "sim/import/k8s/parts.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast::k8s {
namespace {
std::string letters_of(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}
}  // namespace

std::string model_named(const std::string& text) {
  // The organisation in front of a hub's name says nothing ("meta-llama/Meta-Llama-3-8B").
  const std::string name = letters_of(text.substr(text.rfind('/') + 1));
  std::string best;
  for (const std::string& preset : preset_names("models")) {
    const std::string wanted = letters_of(preset);
    const std::size_t at = name.find(wanted);
    if (at == std::string::npos || wanted.size() <= letters_of(best).size()) continue;
    // "llama3-8b" must not stand for "llama3-80b", nor "resnet-18" for "resnet-184".
    const std::size_t end = at + wanted.size();
    const bool goes_on = end < name.size() &&
                         std::isdigit(static_cast<unsigned char>(name[end])) != 0 &&
                         std::isdigit(static_cast<unsigned char>(wanted.back())) != 0;
    if (!goes_on) best = preset;
  }
  if (best.empty() && name == "gpt2") return "gpt2-small";  // the hub's name of the 124M model
  return best;
}
}  // namespace stepcast::k8s
