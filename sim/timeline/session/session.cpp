#include "sim/timeline/session/session.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/io/json.hpp"

namespace stepcast::trace {
namespace {
namespace fs = std::filesystem;

/// Written beside and synced before the rename: after a power cut the name stands for the old file
/// or the new one.
void write_synced(const std::string& path, const std::string& content) {
  std::error_code error;
  if (const fs::path parent = fs::path(path).parent_path(); !parent.empty())
    fs::create_directories(parent, error);
  const std::string temporary = path + ".part" + std::to_string(getpid());
  const auto fail = [&](const char* what) {
    const int reason = errno;
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw EnvironmentError(path + ": " + what + ": " + std::strerror(reason));
  };
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) fail("cannot be created");
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = write(fd, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const int reason = errno;
      close(fd);
      errno = reason;
      fail("cannot be written");
    }
    done += static_cast<std::size_t>(got);
  }
  const bool is_synced = fsync(fd) == 0;
  if (close(fd) != 0 || !is_synced) fail("cannot be written to disk");
  if (rename(temporary.c_str(), path.c_str()) != 0) fail("cannot take its name");
}
}  // namespace

void write_session(const std::string& path, const Session& session) {
  write_synced(path,
               session_json(session).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<Session> read_session(const std::string& path) {
  auto json = read_json_file(path);
  if (!json) return json.problems();
  return session_from_json(*json, path);
}

bool Autosave::save(const Session& session) {
  std::string text =
      session_json(session).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (text == last_) return false;
  write_synced(file(), text);
  last_ = std::move(text);
  return true;
}

std::optional<Session> Autosave::recover() const {
  std::error_code error;
  if (!fs::exists(file(), error)) return std::nullopt;
  const auto saved_at = fs::last_write_time(file(), error);
  const auto kept_at = fs::last_write_time(path_, error);
  if (!error && kept_at > saved_at) return std::nullopt;  // a clean save came later
  auto session = read_session(file());
  if (!session) return std::nullopt;
  return *session;
}

void Autosave::remove() {
  std::error_code ignored;
  fs::remove(file(), ignored);
  last_.clear();
}
}  // namespace stepcast::trace
