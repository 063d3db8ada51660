#include "calibrate/disk/disk_tasks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stepcast::calibrate {
using runtime::Buffer;
namespace {
double now_s() { return seconds_from_ns(runtime::Recorder::now()).value; }
[[noreturn]] void failed(const std::string& path, const char* what) {
  throw EnvironmentError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}
/// A descriptor that closes and a file that goes, also when a write fails (disk full).
struct ScratchFile {
  explicit ScratchFile(std::string name)
      : path(std::move(name)),
        descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    if (descriptor < 0) failed(path, "cannot be created");
  }
  ~ScratchFile() {
    ::close(descriptor);
    ::unlink(path.c_str());
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  std::string path;
  int descriptor;
};
}  // namespace

std::vector<Task> disk_tasks(Depth depth, std::string folder) {
  std::vector<Task> tasks;
  const std::int64_t MiB = depth == Depth::quick ? 64 : 1024;
  tasks.push_back({"disk", [folder, MiB](Bench& bench) {
                     const auto bytes = static_cast<std::size_t>(MiB) << 20;
                     std::vector<char> block(1 << 20, 'x');
                     const StoppingRule rule{.warm_window = 1,
                                             .warm_agreement = 10,
                                             .min_samples = 3,
                                             .max_samples = 5,
                                             .max_time_s = 20};
                     Sampler write(rule), flush(rule), read(rule);
                     for (int repeat = 0; repeat < 8 && !(write.is_done() && read.is_done());
                          ++repeat) {
                       const ScratchFile file(fmt::format("{}/.stepcast-io-{}-{}",
                                                          folder.empty() ? "." : folder, ::getpid(),
                                                          bench.world.rank()));
                       const double from = now_s();
                       for (std::size_t at = 0; at < bytes; at += block.size())
                         if (::write(file.descriptor, block.data(), block.size()) !=
                             static_cast<ssize_t>(block.size()))
                           failed(file.path, "cannot be written");
                       const double written = now_s();
                       if (::fsync(file.descriptor) != 0) failed(file.path, "cannot be flushed");
                       const double flushed = now_s();
                       ::posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED);
                       ::lseek(file.descriptor, 0, SEEK_SET);
                       const double begin = now_s();
                       for (std::size_t at = 0; at < bytes; at += block.size())
                         if (::read(file.descriptor, block.data(), block.size()) !=
                             static_cast<ssize_t>(block.size()))
                           failed(file.path, "cannot be read");
                       const double per_MiB = 1.0 / static_cast<double>(MiB);
                       read.add((now_s() - begin) * per_MiB);
                       write.add((written - from) * per_MiB);
                       flush.add((flushed - written) * per_MiB);
                     }
                     return std::vector<Entry>{{"disk/write", write.summary()},
                                               {"disk/fsync", flush.summary()},
                                               {"disk/read", read.summary()}};
                   }});
  for (const std::int64_t bytes :
       {std::int64_t{64} << 10, std::int64_t{1} << 20, std::int64_t{16} << 20})
    tasks.push_back({fmt::format("transfer/{}", bytes), [bytes](Bench& bench) {
                       Buffer host(bench.device, Bytes(bytes), runtime::MemoryKind::pinned_host),
                           device(bench.device, Bytes(bytes));
                       return std::vector<Entry>{{fmt::format("transfer/to_device/{}", bytes),
                                                  time_on_device(bench, bench.side,
                                                                 [&](int) {
                                                                   bench.device.copy(
                                                                       bench.side, device.data(),
                                                                       host.data(), Bytes(bytes));
                                                                 })},
                                                 {fmt::format("transfer/to_host/{}", bytes),
                                                  time_on_device(bench, bench.side, [&](int) {
                                                    bench.device.copy(bench.side, host.data(),
                                                                      device.data(), Bytes(bytes));
                                                  })}};
                     }});
  return tasks;
}
}  // namespace stepcast::calibrate
