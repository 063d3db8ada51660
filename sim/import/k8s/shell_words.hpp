#pragma once
#include <map>
#include <string>
#include <vector>

namespace stepcast::k8s {
/// Variables of a shell: scalars have one word, arrays any number.
using Variables = std::map<std::string, std::vector<std::string>>;

/// The simple commands of a bash script, each as its words: quotes and line continuations are
/// resolved, comments dropped, variables that are set (in `variables` or by the script itself, with
/// arrays and ${NAME:-default}) replaced. What cannot be known without running it ($UNSET, $(...))
/// stays as written. Loops and conditions are not followed: their words stand in the commands.
std::vector<std::vector<std::string>> commands_of(const std::string& script, Variables variables);
}  // namespace stepcast::k8s
