#include "sim/import/k8s/launch_line.hpp"

#include <algorithm>
#include <cctype>

#include "sim/import/k8s/shell_words.hpp"

namespace stepcast::k8s {
namespace {
using Words = std::vector<std::string>;

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }
bool is_shell(const std::string& word) {
  const std::string base = base_name(word);
  return base == "sh" || base == "bash" || base == "dash" || base == "zsh";
}
bool is_python(const std::string& word) { return base_name(word).starts_with("python"); }

/// The commands behind a container's words: a shell's script, or the words themselves.
std::vector<Words> commands_in(const Pod& pod) {
  const Words& words = pod.command;
  if (words.empty() || !is_shell(words[0])) return {words};
  Variables variables;
  for (const auto& [name, value] : pod.environment) variables[name] = {value};
  for (std::size_t i = 1; i + 1 < words.size(); ++i)
    if (words[i].starts_with('-') && !words[i].starts_with("--") &&
        words[i].find('c') != std::string::npos)
      return commands_of(words[words[i + 1] == "--" && i + 2 < words.size() ? i + 2 : i + 1],
                         variables);
  return {Words(words.begin() + 1, words.end())};  // bash script.sh
}

/// Where a launcher stands and how many words name it ("python -m torch.distributed.run": 3).
struct Found {
  std::string name;
  std::size_t at = 0, words = 1;
};
std::optional<Found> launcher_in(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string base = base_name(words[i]);
    if (base == "torchrun" || base == "horovodrun" || base == "mpirun" || base == "deepspeed")
      return Found{base, i, 1};
    if (base == "mpiexec") return Found{"mpirun", i, 1};
    if (base == "accelerate" && i + 1 < words.size() && words[i + 1] == "launch")
      return Found{base, i, 2};
    if (words[i] == "-m" && i > 0 && i + 1 < words.size() &&
        (words[i + 1] == "torch.distributed.run" || words[i + 1] == "torch.distributed.launch"))
      return Found{"torchrun", i, 2};
  }
  return std::nullopt;
}

/// Flags that take no value; every other one takes one (mpirun's -mca takes two).
int values_of(const std::string& launcher, const std::string& flag) {
  static const Words none{
      "--standalone",    "--no-python",  "--no_python", "--run-path", "--run_path",
      "--use-env",       "--use_env",    "-m",          "--module",   "--allow-run-as-root",
      "--oversubscribe", "--tag-output", "-tag-output", "--verbose",  "--multi_gpu",
      "--use_deepspeed", "--use_fsdp",   "--no_ssh",    "-v"};
  if (std::find(none.begin(), none.end(), flag) != none.end()) return 0;
  if (launcher == "mpirun" && (flag == "-mca" || flag == "--mca")) return 2;
  return 1;
}

void set_count(const std::string& launcher, const std::string& flag, const std::string& value,
               LaunchLine& line, const Pod& pod, Reading& reading) {
  std::string name = flag;
  std::replace(name.begin(), name.end(), '_', '-');
  std::optional<std::int64_t>* into = nullptr;
  if (launcher == "torchrun") {
    if (name == "--nnodes") into = &line.nodes;
    if (name == "--nproc-per-node") into = &line.per_node;
  } else if (launcher == "mpirun" || launcher == "horovodrun") {
    if (name == "-np" || name == "-n" || name == "--np" || name == "-c") into = &line.total;
    if (name == "-N" || name == "-npernode" || name == "--npernode" || name == "-ppn")
      into = &line.per_node;
  } else if (launcher == "deepspeed") {
    if (name == "--num-nodes") into = &line.nodes;
    if (name == "--num-gpus") into = &line.per_node;
  } else if (launcher == "accelerate") {
    if (name == "--num-machines") into = &line.nodes;
    if (name == "--num-processes") into = &line.total;
  }
  if (into == nullptr) return;
  if (is_open(value) || value == "auto" || value == "gpu") return;  // what the pods say holds
  if (value.find(':') != std::string::npos) return;                 // torchrun MIN:MAX, elastic
  *into = whole_number(value, 1);
  if (!*into)
    reading.problem(pod.line, flag + ": found \"" + value + "\", expected a whole number");
}

/// The program behind a launcher or alone: python's script, or the first word.
void set_program(const Words& words, std::size_t at, LaunchLine& line) {
  while (at < words.size() && (is_python(words[at]) || words[at] == "exec" ||
                               (words[at].starts_with('-') && words[at] != "-m")))
    ++at;
  if (at < words.size() && words[at] == "-m") ++at;
  if (at >= words.size()) return;
  line.program = words[at];
  line.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
}

void read_launcher(const Words& words, const Found& found, LaunchLine& line, const Pod& pod,
                   Reading& reading) {
  line.launcher = found.name;
  std::size_t at = found.at + found.words;
  while (at < words.size() && words[at].starts_with('-')) {
    const std::string& word = words[at++];
    const std::size_t equals = word.find('=');
    if (word.starts_with("--") && equals != std::string::npos) {
      set_count(line.launcher, word.substr(0, equals), word.substr(equals + 1), line, pod, reading);
      continue;
    }
    const auto count = static_cast<std::size_t>(values_of(line.launcher, word));
    if (count >= 1 && at < words.size()) {
      set_count(line.launcher, word, words[at], line, pod, reading);
      if (word == "-x")
        if (const std::size_t sign = words[at].find('='); sign != std::string::npos)
          line.exported.emplace_back(words[at].substr(0, sign), words[at].substr(sign + 1));
    }
    at += count;
  }
  if (at < words.size()) set_program(words, at, line);
}
}  // namespace

LaunchLine launch_line(const Pod& pod, Reading& reading) {
  LaunchLine line;
  const std::vector<Words> commands = commands_in(pod);
  for (const Words& words : commands)
    if (const auto found = launcher_in(words)) {
      read_launcher(words, *found, line, pod, reading);
      return line;
    }
  for (const Words& words : commands)
    if (std::any_of(words.begin(), words.end(), is_python)) {
      const auto python = std::find_if(words.begin(), words.end(), is_python);
      set_program(words, static_cast<std::size_t>(python - words.begin()), line);
      return line;
    }
  if (!commands.empty() && !commands.back().empty()) set_program(commands.back(), 0, line);
  return line;
}

std::vector<ProgramFlag> program_flags(const std::vector<std::string>& arguments) {
  std::vector<ProgramFlag> flags;
  const auto is_flag = [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' &&
           (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
  };
  for (const std::string& word : arguments) {
    if (!is_flag(word)) {
      if (!flags.empty()) flags.back().values.push_back(word);
      continue;
    }
    const std::size_t begin = word.find_first_not_of('-');
    if (begin == std::string::npos) continue;
    const std::size_t equals = word.find('=');
    ProgramFlag flag{word.substr(begin, equals == std::string::npos ? equals : equals - begin), {}};
    std::replace(flag.name.begin(), flag.name.end(), '_', '-');
    if (equals != std::string::npos) flag.values.push_back(word.substr(equals + 1));
    flags.push_back(std::move(flag));
  }
  return flags;
}
}  // namespace stepcast::k8s
