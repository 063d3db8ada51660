#include "sim/timeline/cache/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/timeline/cache/cache_parts.hpp"

/// File:  header | sources | lists | columns, each at a multiple of 64 bytes. The header holds the
/// sections' places and a checksum of all bytes behind it, so that a half-written or damaged file
/// is known before anything of it is used.
namespace stepcast::trace {
namespace {
namespace fs = std::filesystem;
constexpr std::uint64_t kMagic = 0x3143'5453'4554'5331ULL;
constexpr std::uint32_t kVersion =
    3;  // raise with every change of a stored type or of what the reader makes of a file
enum Section : std::uint8_t {
  sources_,
  lists_,
  report_,
  start_,
  duration_,
  op_low_,
  op_high_,
  offset_,
  instants_,
  flows_,
  by_target_,
  collectives_,
  kSections
};
struct Place {
  std::uint64_t at = 0, size = 0;
};
struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion, sections = kSections;
  std::uint64_t file_size = 0, checksum = 0;
  std::array<Place, kSections> places{};
};
constexpr std::size_t kAlign = 64;
constexpr std::size_t aligned(std::size_t at) { return (at + kAlign - 1) / kAlign * kAlign; }

/// Four multiply-and-rotate lanes over 8-byte words (as xxHash does, own arrangement): several
/// GB/s, and any flipped bit shows.
class Checksum {
 public:
  void add(std::span<const char> bytes) {
    while (bytes.size() >= 32) {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + lane * 8, 8);
        mix(lanes_[lane], word);
      }
      bytes = bytes.subspan(32);
    }
    std::array<char, 32> rest{};
    if (!bytes.empty()) {
      std::memcpy(rest.data(), bytes.data(), bytes.size());
      add(std::span<const char>(rest));
    }
  }
  std::uint64_t value() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t lane : lanes_) sum = (sum ^ lane) * kPrime + (sum >> 29);
    return sum;
  }

 private:
  static constexpr std::uint64_t kPrime = 0x9E3779B185EBCA87ULL;
  static void mix(std::uint64_t& lane, std::uint64_t word) {
    lane += word * 0xC2B2AE3D27D4EB4FULL;
    lane = (lane << 31 | lane >> 33) * kPrime;
  }
  std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
};

struct SourceStamp {
  std::string path;
  std::uint64_t size = 0;
  std::int64_t modified = 0;
};
bool stamp(const std::string& path, SourceStamp& out) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return false;
  out.path = fs::absolute(path).lexically_normal().string();
  out.size = static_cast<std::uint64_t>(info.st_size);
  out.modified = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return true;
}
/// Empty when a source is gone.
std::string stamps_of(const std::vector<std::string>& sources) {
  BlobWriter out;
  for (const std::string& source : sources) {
    SourceStamp s;
    if (!stamp(source, s)) return {};
    out.put_text(s.path), out.put(s.size), out.put(s.modified);
  }
  return out.bytes();
}

template <class T>
std::span<const char> bytes_of(const Column<T>& column) {
  return {reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T)};
}

struct Mapping {
  void* data = MAP_FAILED;
  std::size_t size = 0;
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (data != MAP_FAILED) munmap(data, size);
  }
};
}  // namespace

std::string cache_path(const std::vector<std::string>& sources, const std::string& folder) {
  Checksum sum;
  for (const std::string& source : sources) {
    const std::string path = fs::absolute(source).lexically_normal().string() + '\n';
    sum.add(path);
  }
  return folder + fmt::format("/{:016x}.stepcast-cache", sum.value());
}

std::string default_cache_folder() {
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base != nullptr && *base == '/') return std::string(base) + "/stepcast/traces";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/stepcast/traces"
                                         : std::string{};
}

std::optional<CachedTrace> read_cache(const std::string& path,
                                      const std::vector<std::string>& sources) {
  const std::string stamps = stamps_of(sources);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || stamps.empty()) {
    if (fd >= 0) close(fd);
    return std::nullopt;
  }
  auto map = std::make_shared<Mapping>();
  struct stat info {};
  if (fstat(fd, &info) == 0 && static_cast<std::size_t>(info.st_size) >= sizeof(Header)) {
    map->size = static_cast<std::size_t>(info.st_size);
    map->data = mmap(nullptr, map->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  }
  close(fd);
  if (map->data == MAP_FAILED) return std::nullopt;
  const char* base = static_cast<const char*>(map->data);
  Header header;
  std::memcpy(&header, base, sizeof header);
  if (header.magic != kMagic || header.version != kVersion || header.sections != kSections ||
      header.file_size != map->size)
    return std::nullopt;
  for (const Place& place : header.places)
    if (place.at % kAlign != 0 || place.at > map->size || place.size > map->size - place.at)
      return std::nullopt;
  const auto section = [&](Section s) {
    return std::span<const char>(base + header.places[s].at, header.places[s].size);
  };
  if (std::string_view(section(sources_).data(), section(sources_).size()) != stamps)
    return std::nullopt;
  Checksum sum;
  sum.add({reinterpret_cast<const char*>(&header.places), sizeof header.places});
  sum.add({base + sizeof header, map->size - sizeof header});
  if (sum.value() != header.checksum) return std::nullopt;

  CachedTrace cached;
  TraceStore::Parts parts;
  BlobReader lists(section(lists_)), report(section(report_));
  get_lists(lists, parts);
  get_report(report, cached.report);
  if (!lists.is_good() || !report.is_good()) return std::nullopt;
  const auto column = [&]<class T>(Column<T>& out, Section s) {
    const auto bytes = section(s);
    out = Column<T>(
        std::span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)),
        map);
  };
  column(parts.start, start_), column(parts.duration, duration_), column(parts.op_low, op_low_),
      column(parts.op_high, op_high_);
  column(parts.source, offset_), column(parts.instants, instants_), column(parts.flows, flows_),
      column(parts.flows_by_target, by_target_);
  column(parts.collectives, collectives_);
  const std::size_t slices = parts.start.size();
  if (parts.duration.size() != slices || parts.op_low.size() != slices ||
      (!parts.source.empty() && parts.source.size() != slices))
    return std::nullopt;
  cached.trace = std::make_shared<const TraceStore>(std::move(parts));
  return cached;
}

bool write_cache(const std::string& path, const std::vector<std::string>& sources,
                 const TraceStore& trace, const ImportReport& report) {
  const std::string stamps = stamps_of(sources);
  if (stamps.empty()) return false;
  const TraceStore::Parts& parts = trace.parts();
  BlobWriter lists, report_bytes;
  put_lists(lists, parts);
  put_report(report_bytes, report);
  const std::array<std::span<const char>, kSections> sections{
      std::span<const char>(stamps),
      std::span<const char>(lists.bytes()),
      std::span<const char>(report_bytes.bytes()),
      bytes_of(parts.start),
      bytes_of(parts.duration),
      bytes_of(parts.op_low),
      bytes_of(parts.op_high),
      bytes_of(parts.source),
      bytes_of(parts.instants),
      bytes_of(parts.flows),
      bytes_of(parts.flows_by_target),
      bytes_of(parts.collectives)};
  Header header;
  std::size_t at = aligned(sizeof header);
  for (std::size_t s = 0; s < kSections; ++s) {
    header.places[s] = {at, sections[s].size()};
    at = aligned(at + sections[s].size());
  }
  header.file_size = at;
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string temporary = path + ".part" + std::to_string(getpid());
  const int fd = open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool is_good = posix_fallocate(fd, 0, static_cast<off_t>(at)) ==
                 0;  // a full disk shows here and not as a crash while writing
  if (is_good) {
    Mapping map;
    map.size = at;
    map.data = mmap(nullptr, at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    is_good = map.data != MAP_FAILED;
    if (is_good) {
      char* base = static_cast<char*>(map.data);
      for (std::size_t s = 0; s < kSections; ++s)
        if (!sections[s].empty())
          std::memcpy(base + header.places[s].at, sections[s].data(), sections[s].size());
      Checksum sum;
      sum.add({reinterpret_cast<const char*>(&header.places), sizeof header.places});
      sum.add({base + sizeof header, at - sizeof header});
      header.checksum = sum.value();
      std::memcpy(base, &header, sizeof header);
    }
  }
  close(fd);
  if (is_good) {
    fs::rename(temporary, path, error);
    is_good = !error;
  }
  if (!is_good) fs::remove(temporary, error);
  return is_good;
}

void trim_cache(const std::string& folder, std::uint64_t bytes) {
  struct Entry {
    fs::path path;
    std::uint64_t size = 0;
    fs::file_time_type time;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".stepcast-cache") continue;
    std::error_code one;
    entries.push_back({at->path(), at->file_size(one), at->last_write_time(one)});
    if (one)
      entries.pop_back();
    else
      total += entries.back().size;
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.time < b.time; });
  for (const Entry& entry : entries) {
    if (total <= bytes) return;
    if (fs::remove(entry.path, error)) total -= entry.size;
  }
}
}  // namespace stepcast::trace
