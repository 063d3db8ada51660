#include "sim/io/files.hpp"

#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "sim/io/unfinished_file.hpp"

namespace stepcast {
namespace fs = std::filesystem;
namespace {
bool ends_with_gz(const std::string& path) { return path.size() > 3 && path.ends_with(".gz"); }

std::string hint_for_missing(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, ignored), end;
       !ignored && it != end && names.size() < 5000; it.increment(ignored))
    names.push_back(it->path().filename().string());
  const std::string nearest = nearest_name(path.filename().string(), names);
  return nearest.empty() ? ""
                         : "did you mean " + (path.has_parent_path() ? path.parent_path() / nearest
                                                                     : fs::path(nearest))
                                                 .string();
}
}  // namespace

Result<std::string> read_file(const std::string& path, std::int64_t limit) {
  Problems problems;
  const auto fail = [&](std::string message, std::string hint = "") {
    problems.add({path, "", std::move(message), std::move(hint)});
    return problems;
  };
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return fail("no such file", hint_for_missing(path));
  if (fs::is_directory(status)) return fail("is a folder; a file is expected");
  const auto too_large = [&] {
    return fail("is larger than " + std::to_string(limit >> 20) +
                " MiB, the limit for this kind of file");
  };
  if (fs::is_regular_file(status) && static_cast<std::int64_t>(fs::file_size(path, error)) > limit)
    return too_large();
  std::string content;
  const auto close = [](gzFile f) { gzclose(f); };
  std::unique_ptr<gzFile_s, decltype(close)> in(gzopen(path.c_str(), "rb"), close);
  if (!in) return fail(std::string("cannot be read: ") + std::strerror(errno));
  char buffer[1 << 16];
  for (;;) {
    const int count = gzread(in.get(), buffer, sizeof buffer);
    if (count < 0) return fail(ends_with_gz(path) ? "is not valid gzip" : "cannot be read");
    if (count == 0) break;
    content.append(buffer, static_cast<std::size_t>(count));
    if (static_cast<std::int64_t>(content.size()) > limit) return too_large();
  }
  int gz_error = Z_OK;
  gzerror(in.get(), &gz_error);
  if (gz_error != Z_OK && gz_error != Z_STREAM_END)
    return fail("ends in the middle of its gzip stream");
  return content;
}

void write_file(const std::string& path, const std::string& content) {
  const fs::path target(path);
  std::error_code error;
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
  if (error)
    throw EnvironmentError(target.parent_path().string() +
                           ": cannot be created: " + error.message());
  const std::string temporary = path + ".part" + std::to_string(getpid());
  const UnfinishedFile unfinished(temporary);
  const auto fail = [&](const char* what) {
    const std::string reason = std::strerror(errno);
    fs::remove(temporary, error);
    throw EnvironmentError(path + ": cannot " + what + ": " + reason);
  };
  if (ends_with_gz(path)) {
    gzFile out = gzopen(temporary.c_str(), "wb6");
    if (out == nullptr) fail("be created");
    std::size_t done = 0;
    while (done < content.size()) {
      const auto piece =
          static_cast<unsigned>(std::min<std::size_t>(content.size() - done, 1u << 30));
      if (gzwrite(out, content.data() + done, piece) != static_cast<int>(piece)) {
        gzclose(out);
        fail("be written");
      }
      done += piece;
    }
    if (gzclose(out) != Z_OK) fail("be written");
  } else {
    std::ofstream out(temporary, std::ios::binary);
    if (!out) fail("be created");
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) fail("be written");
  }
  fs::rename(temporary, path, error);
  if (error) {
    errno = error.value();
    fail("be renamed into place");
  }
}
}  // namespace stepcast
