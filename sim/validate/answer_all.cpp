#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/core/assert.hpp"
#include "sim/io/whole_transfer.hpp"
#include "sim/validate/predictor.hpp"

/// Worker processes over pipes. SimGrid keeps one engine per process, so threads would not do.
///   parent --(question index, 8 bytes)--> worker --(index, length, answer bytes)--> parent
namespace stepcast {
namespace {

struct WorkerProcess {
  pid_t pid = -1;
  int to = -1, from = -1;  // parent's ends
  std::int64_t at = -1;    // question it works on; -1 idle
};

bool write_whole(int fd, const void* data, std::size_t size) {
  return transfer_whole(static_cast<const char*>(data), size,
                        [fd](const char* at, std::size_t left) { return ::write(fd, at, left); });
}
bool read_whole(int fd, void* data, std::size_t size) {
  return transfer_whole(static_cast<char*>(data), size,
                        [fd](char* at, std::size_t left) { return ::read(fd, at, left); });
}

void put_text(std::string& out, const std::string& text) {
  const std::uint64_t size = text.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out += text;
}
std::string packed(const Answer& answer) {
  std::string out;
  put_text(out, answer.refusal);
  put_text(out, answer.note);
  for (const Estimate& e : answer.estimates)
    out.append(reinterpret_cast<const char*>(&e), sizeof e);
  return out;
}
Answer unpacked(const std::string& bytes) {
  Answer answer;
  std::size_t at = 0;
  for (std::string* text : {&answer.refusal, &answer.note}) {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    *text = bytes.substr(at + sizeof size, size);
    at += sizeof size + size;
  }
  answer.estimates.resize((bytes.size() - at) / sizeof(Estimate));
  if (!answer.estimates.empty())
    std::memcpy(answer.estimates.data(), bytes.data() + at, bytes.size() - at);
  return answer;
}

[[noreturn]] void serve(Predictor& predictor, const std::vector<Question>& questions, int from,
                        int to) {
  std::int64_t index = 0;
  while (read_whole(from, &index, sizeof index) && index >= 0) {
    const std::string bytes = packed(predictor.answer(questions[static_cast<std::size_t>(index)]));
    const std::uint64_t size = bytes.size();
    if (!write_whole(to, &size, sizeof size) || !write_whole(to, bytes.data(), bytes.size())) break;
  }
  ::_exit(0);  // no destructors of the parent's state
}

WorkerProcess start(Predictor& predictor, const std::vector<Question>& questions,
                    const std::vector<WorkerProcess>& others) {
  int down[2], up[2];
  if (::pipe(down) != 0 || ::pipe(up) != 0)
    throw EnvironmentError(fmt::format("pipe: {}", std::strerror(errno)));
  const pid_t pid = ::fork();
  if (pid < 0) throw EnvironmentError(fmt::format("fork: {}", std::strerror(errno)));
  if (pid == 0) {
    ::close(down[1]);
    ::close(up[0]);
    for (const WorkerProcess& other :
         others) {  // else a worker would keep its siblings' pipes open
      if (other.to >= 0) ::close(other.to);
      if (other.from >= 0) ::close(other.from);
    }
    serve(predictor, questions, down[0], up[1]);
  }
  ::close(down[0]);
  ::close(up[1]);
  return {pid, down[1], up[0], -1};
}

std::string end_of(WorkerProcess& worker) {
  ::close(worker.to);
  ::close(worker.from);
  worker.to = worker.from = -1;
  int status = 0;
  while (::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    return fmt::format("our fault: the simulation died of signal {}", WTERMSIG(status));
  return fmt::format("our fault: the simulation ended with code {}", WEXITSTATUS(status));
}
}  // namespace

std::vector<Answer> answer_all(Predictor& predictor, const std::vector<Question>& questions,
                               int jobs, void (*progress)(std::size_t, std::size_t)) {
  std::vector<Answer> answers(questions.size());
  std::size_t done = 0;
  const auto finish = [&](std::size_t index, Answer answer) {
    answers[index] = std::move(answer);
    ++done;
    if (progress) progress(done, questions.size());
  };
  if (jobs <= 1 || questions.size() <= 1) {
    for (std::size_t index = 0; index < questions.size(); ++index)
      finish(index, predictor.answer(questions[index]));
    return answers;
  }
  // A worker that died leaves a broken pipe: the failed write tells, the signal must not end us.
  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  std::vector<WorkerProcess> workers;
  std::size_t next = 0;
  const auto give = [&](WorkerProcess& worker) {
    worker.at = next < questions.size() ? static_cast<std::int64_t>(next++) : -1;
    const std::int64_t message = worker.at;
    return write_whole(worker.to, &message, sizeof message);
  };
  for (int i = 0; i < std::min<int>(jobs, static_cast<int>(questions.size())); ++i) {
    workers.push_back(start(predictor, questions, workers));
    give(workers.back());
  }
  while (done < questions.size()) {
    std::vector<pollfd> waiting;
    std::vector<std::size_t> owner;
    for (std::size_t i = 0; i < workers.size(); ++i)
      if (workers[i].at >= 0) {
        waiting.push_back({workers[i].from, POLLIN, 0});
        owner.push_back(i);
      }
    STEPCAST_ASSERT(!waiting.empty(), "a question is either answered or with a worker");
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;  // interrupted by a signal
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      WorkerProcess& worker = workers[owner[i]];
      const auto index = static_cast<std::size_t>(worker.at);
      std::uint64_t size = 0;
      std::string bytes;
      bool ok = read_whole(worker.from, &size, sizeof size);
      if (ok) {
        bytes.resize(size);
        ok = read_whole(worker.from, bytes.data(), size);
      }
      if (ok) {
        finish(index, unpacked(bytes));
      } else {
        finish(index, Answer{{}, end_of(worker), ""});
        if (next < questions.size())
          worker = start(predictor, questions, workers);
        else {
          worker.at = -1;
          continue;
        }
      }
      give(worker);
    }
  }
  for (WorkerProcess& worker : workers)
    if (worker.to >= 0) end_of(worker);
  std::signal(SIGPIPE, old_handler);
  return answers;
}
}  // namespace stepcast
