#include "sim/cli/worker_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "sim/core/assert.hpp"

namespace stepcast {
namespace {
volatile std::sig_atomic_t stop_signal = 0;
void note_stop(int signal_number) { stop_signal = signal_number; }

/// Catches SIGINT and SIGTERM for its lifetime.
class StopWatch {
 public:
  StopWatch() {
    stop_signal = 0;
    struct sigaction action {};
    action.sa_handler = note_stop;  // no SA_RESTART: poll returns at once
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~StopWatch() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

 private:
  struct sigaction old_int_ {
  }, old_term_{};
};

struct Child {
  pid_t pid = 0;
  int pipe = -1;
  std::size_t task = 0;
  std::string text;
};

[[noreturn]] void be_child(int out, std::size_t task,
                           const std::function<std::string(std::size_t)>& work) {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  if (const int null = open("/dev/null", O_WRONLY); null >= 0) dup2(null, STDOUT_FILENO);
  int code = 1;
  try {
    const std::string text = work(task);
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = write(out, text.data() + sent, text.size() - sent);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      sent += static_cast<std::size_t>(count);
    }
    code = sent == text.size() ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "stepcast: %s\n", e.what());
    code = 1;
  }
  _exit(code);  // no destructors, no flushing of buffers that belong to the parent
}

Child started(std::size_t task, const std::vector<Child>& others,
              const std::function<std::string(std::size_t)>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw EnvironmentError(std::string("no pipe for a worker: ") + std::strerror(errno));
  const pid_t pid = fork();
  if (pid < 0)
    throw EnvironmentError(std::string("no process for a worker: ") + std::strerror(errno));
  if (pid == 0) {
    close(ends[0]);
    for (const Child& other : others) close(other.pipe);
    be_child(ends[1], task, work);
  }
  close(ends[1]);
  return {pid, ends[0], task, ""};
}

WorkerAnswer finished(Child& child) {
  close(child.pipe);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  WorkerAnswer answer{child.task, std::move(child.text), ""};
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    answer.was_killed = number == SIGKILL || number == SIGTERM;
    answer.death =
        "was killed by signal " + std::to_string(number) +
        (number == SIGKILL ? "; Linux does that when memory runs out: try fewer jobs with -j" : "");
  } else if (WEXITSTATUS(status) != 0)
    answer.death = "ended with code " + std::to_string(WEXITSTATUS(status));
  return answer;
}

void kill_all(std::vector<Child>& children) {
  for (Child& child : children) kill(child.pid, SIGKILL);
  for (Child& child : children) finished(child);
  children.clear();
}
}  // namespace

bool run_in_processes(const std::vector<std::size_t>& tasks, int jobs,
                      const std::function<std::string(std::size_t)>& work,
                      const std::function<void(const WorkerAnswer&)>& done) {
  const StopWatch watch;
  std::vector<Child> children;
  std::size_t next = 0;
  try {
    while ((next < tasks.size() || !children.empty()) && stop_signal == 0) {
      while (next < tasks.size() && children.size() < static_cast<std::size_t>(jobs))
        children.push_back(started(tasks[next++], children, work));
      std::vector<pollfd> waits;
      for (const Child& child : children) waits.push_back({child.pipe, POLLIN, 0});
      if (poll(waits.data(), waits.size(), -1) < 0) continue;  // a signal
      for (std::size_t i = waits.size(); i-- > 0;) {
        if (waits[i].revents == 0) continue;
        char buffer[1 << 14];
        const ssize_t count = read(children[i].pipe, buffer, sizeof buffer);
        if (count > 0) {
          children[i].text.append(buffer, static_cast<std::size_t>(count));
          continue;
        }
        if (count < 0 && errno == EINTR) continue;
        Child child = std::move(children[i]);
        children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
        done(finished(child));
      }
    }
  } catch (...) {
    kill_all(children);
    throw;
  }
  const bool is_complete = stop_signal == 0;
  kill_all(children);
  return is_complete;
}
}  // namespace stepcast
