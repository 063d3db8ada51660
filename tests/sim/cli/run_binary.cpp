#include "tests/sim/cli/run_binary.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace stepcast::test {
namespace {
[[noreturn]] void become_stepcast(const std::vector<std::string>& arguments,
                                  const std::string& folder, int out, int err) {
  if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(125);
  const int in = open("/dev/null", O_RDONLY);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  std::vector<std::string> words{STEPCAST_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(126);
}
}  // namespace

Finished run_stepcast(const std::vector<std::string>& arguments, const std::string& folder,
                      double limit_s) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipes");
  const pid_t pid = fork();
  if (pid == 0) become_stepcast(arguments, folder, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  Finished f;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  pollfd waits[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  for (int open_pipes = 2; open_pipes > 0;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          end - std::chrono::steady_clock::now())
                          .count();
    if (left <= 0 || poll(waits, 2, static_cast<int>(left)) == 0) {
      f.timed_out = true;
      kill(pid, SIGKILL);
      break;
    }
    for (int i = 0; i < 2; ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      char buffer[1 << 14];
      const ssize_t count = read(waits[i].fd, buffer, sizeof buffer);
      if (count > 0)
        (i == 0 ? f.out : f.err).append(buffer, static_cast<std::size_t>(count));
      else {
        waits[i].fd = -1;
        --open_pipes;
      }
    }
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  f.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return f;
}

int start_stepcast(const std::vector<std::string>& arguments, const std::string& folder) {
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t pid = fork();
  if (pid == 0) become_stepcast(arguments, folder, null, null);
  close(null);
  return pid;
}

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "stepcast_test_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
std::string Folder::write(const std::string& name, const std::string& content) const {
  std::ofstream(path(name), std::ios::binary) << content;
  return path(name);
}
std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}
}  // namespace stepcast::test
