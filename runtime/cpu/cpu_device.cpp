#include "runtime/cpu/cpu_device.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "runtime/cpu/sgemm.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
/// The value of the first line `key : value` of /proc/cpuinfo or /proc/meminfo; "" where absent.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t from =
        colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return from == std::string::npos ? "" : line.substr(from);
  }
  return "";
}
const char* vector_width() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "x86-64, AVX-512";
  if (__builtin_cpu_supports("avx2")) return "x86-64, AVX2";
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown architecture";
#endif
}
}  // namespace

DeviceInfo cpu_info() {
  DeviceInfo info;
  info.name = proc_value("/proc/cpuinfo", "model name");
  if (info.name.empty()) info.name = "CPU";
  info.architecture = vector_width();
  info.versions.emplace_back("matrix products", sgemm_library());
  std::ifstream release("/proc/sys/kernel/osrelease");
  std::getline(release, info.versions.emplace_back("kernel", "").second);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  info.compute_units =
      sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  info.memory = Bytes(static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
  const std::string clock = proc_value("/proc/cpuinfo", "cpu MHz");
  info.clock_MHz = clock.empty() ? 0 : std::strtod(clock.c_str(), nullptr);
  return info;
}

std::unique_ptr<Stream> CpuDevice::new_stream(const std::string& name, StreamPriority priority) {
  auto stream = std::make_unique<CpuStream>(*this, name, priority, [this](CpuStream* closed) {
    const std::lock_guard lock(mutex_);
    streams_.erase(closed);
  });
  const std::lock_guard lock(mutex_);
  streams_.insert(stream.get());
  return stream;
}
void CpuDevice::synchronise() {
  std::set<CpuStream*> streams;
  {
    const std::lock_guard lock(mutex_);
    streams = streams_;
  }
  for (CpuStream* stream : streams) stream->synchronise();
}
std::unique_ptr<Event> CpuDevice::new_event(bool /*has_timing*/) {
  return std::make_unique<CpuEvent>();
}

void* CpuDevice::allocate(Bytes bytes, MemoryKind /*kind*/) {
  constexpr std::int64_t kLine = 64;  // a cache line, and the widest vector
  // Of x86-64 and of 4 KiB pages on arm64. On small pages the same kernel's time differed by a
  // tenth between two buffers of one process.
  constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
  const std::int64_t alignment = bytes.value >= kHugePage ? kHugePage : kLine;
  const std::int64_t rounded = (bytes.value + alignment - 1) / alignment * alignment;
  const std::lock_guard lock(mutex_);
  // Linux grants more than it has and kills later; refuse while there is still someone to tell.
  void* data = allocated_.value + rounded > info_.memory.value
                   ? nullptr
                   : std::aligned_alloc(static_cast<std::size_t>(alignment),
                                        static_cast<std::size_t>(rounded));
  if (data == nullptr)
    throw EnvironmentError(
        fmt::format("out of memory: {} bytes asked, {} of {} in use by this process", bytes.value,
                    allocated_.value, info_.memory.value));
  if (alignment == kHugePage)
    madvise(data, static_cast<std::size_t>(rounded), MADV_HUGEPAGE);  // a wish, not a need
  // Touched now, so that page faults do not land in the first measurement.
  std::memset(data, 0, static_cast<std::size_t>(rounded));
  blocks_.emplace(data, Bytes(rounded));
  allocated_ += Bytes(rounded);
  peak_ = std::max(peak_, allocated_);
  return data;
}
void CpuDevice::release(void* data, MemoryKind /*kind*/) noexcept {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(data);
  if (block == blocks_.end()) return;
  allocated_ -= block->second;
  blocks_.erase(block);
  std::free(data);
}
Bytes CpuDevice::allocated() const {
  const std::lock_guard lock(mutex_);
  return allocated_;
}
Bytes CpuDevice::peak_allocated() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void CpuDevice::copy(Stream& stream, void* to, const void* from, Bytes bytes) {
  cpu(stream).enqueue([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes.value)); });
}
void CpuDevice::fill_zero(Stream& stream, void* data, Bytes bytes) {
  cpu(stream).enqueue([=] { std::memset(data, 0, static_cast<std::size_t>(bytes.value)); });
}
}  // namespace stepcast::runtime
