#include "sim/import/command/input_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/core/result.hpp"
#include "sim/import/chakra/chakra.hpp"
#include "sim/import/chakra/chakra_node.hpp"
#include "sim/import/chrome_timeline/chrome_timeline.hpp"
#include "sim/import/common/byte_source.hpp"
#include "sim/import/goal/goal.hpp"
#include "sim/import/k8s/k8s.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/import/nccl_tests/nccl_log.hpp"
#include "sim/import/nsys/nsys.hpp"
#include "sim/import/replay/workload_file.hpp"
#include "sim/import/straggler/straggler_table.hpp"

namespace stepcast {
namespace fs = std::filesystem;
namespace {
constexpr std::size_t kBlock = 512;  // tar
constexpr std::uint64_t kMostUnpacked = std::uint64_t{64} << 30;

bool read_block(ByteSource& in, char* block) {
  std::size_t have = 0;
  while (have < kBlock) {
    const std::size_t got = in.read(block + have, kBlock - have);
    if (got == 0) return false;
    have += got;
  }
  return true;
}
bool is_tar(std::string_view head) {
  return head.size() >= kBlock && head.substr(257, 5) == "ustar";
}
}  // namespace

InputFiles::InputFiles(const std::vector<std::string>& named) {
  for (const std::string& path : named) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add(path);
      continue;
    }
    has_container_ = true;
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator
             it(path, fs::directory_options::skip_permission_denied, error),
         end;
         !error && it != end; it.increment(error))
      if (it->is_regular_file(error)) found.push_back(it->path().string());
    std::sort(found.begin(), found.end());
    if (found.empty()) throw InputError(Problem{path, "", "is an empty folder", ""});
    for (const std::string& file : found) add(file);
  }
}
InputFiles::~InputFiles() {
  std::error_code ignored;
  for (const std::string& folder : folders_) fs::remove_all(folder, ignored);
}
void InputFiles::add(const std::string& path) {
  if (is_tar(head_of(path, kBlock)))
    unpack(path);
  else
    paths_.push_back(path);
}
void InputFiles::unpack(const std::string& path) {
  has_container_ = true;
  const auto source = open_bytes(path);
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("stepcast-import-{}-{}", getpid(), folders_.size());
  folders_.push_back(folder.string());
  fs::create_directories(folder);
  char block[kBlock];
  std::uint64_t unpacked = 0;
  int members = 0;
  while (read_block(*source, block) && block[0] != '\0') {
    if (!is_tar({block, kBlock}))
      throw InputError(Problem{path, "", "is a damaged tar archive", ""});
    char field[13] = {};
    std::memcpy(field, block + 124, 12);
    std::uint64_t left = std::strtoull(field, nullptr, 8);
    unpacked += left;
    if (unpacked > kMostUnpacked)
      throw InputError(Problem{path, "", "unpacks to more than 64 GiB",
                               "unpack it yourself and give the files"});
    const bool is_file = block[156] == '0' || block[156] == '\0';
    char name[101] = {};
    std::memcpy(name, block, 100);
    // Only the last part of a member's name is used: an archive cannot write outside of the folder.
    const fs::path target =
        folder / fmt::format("{:05}-{}", members++, fs::path(name).filename().string());
    std::ofstream out;
    if (is_file) out.open(target, std::ios::binary);
    for (; left > 0; left -= std::min<std::uint64_t>(left, kBlock)) {
      if (!read_block(*source, block))
        throw InputError(Problem{path, "", "breaks off inside a member", "copy the archive again"});
      if (is_file)
        out.write(block, static_cast<std::streamsize>(std::min<std::uint64_t>(left, kBlock)));
    }
    if (is_file) {
      if (!out.flush()) throw EnvironmentError(target.string() + ": cannot be written");
      out.close();
      add(target.string());
    }
  }
}

ImportKind kind_of(const std::string& path) {
  const std::string head = head_of(path);
  if (nsys::sniff(head)) return ImportKind::nsys;
  if (sniff_workload(head)) return ImportKind::workload;
  if (chakra::sniff_json(head)) return ImportKind::chakra;
  if (chrome_timeline::sniff(head)) return ImportKind::chrome_timeline;
  if (kineto::sniff(head)) return ImportKind::kineto;
  if (goal::sniff(head)) return ImportKind::goal;
  if (straggler::sniff(head)) return ImportKind::straggler_table;
  if (chakra::sniff(head)) return ImportKind::chakra;
  if (nccl_tests::sniff(head)) return ImportKind::nccl_tests;
  if (k8s::sniff(head)) return ImportKind::k8s;
  return ImportKind::unknown;
}
const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names{"nccl-tests", "kineto",  "chakra",
                                              "nsys",       "goal",    "straggler-table",
                                              "workload",   "horovod", "k8s"};
  return names;
}
ImportKind kind_named(const std::string& word) {
  if (word == "rccl-tests") return ImportKind::nccl_tests;
  if (word == "tensorflow" || word == "jax") return ImportKind::chrome_timeline;
  if (word == "pytorch") return ImportKind::kineto;
  const auto& names = kind_names();
  const auto at = std::find(names.begin(), names.end(), word);
  return at == names.end() ? ImportKind::unknown : static_cast<ImportKind>(at - names.begin());
}
}  // namespace stepcast
