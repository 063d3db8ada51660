#include "calibrate/measure/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/io/json.hpp"

namespace stepcast::calibrate {
namespace {
Json json_of(const Summary& s) {
  return {{"n", s.n},
          {"median_s", s.median_s},
          {"q25_s", s.q25_s},
          {"q75_s", s.q75_s},
          {"min_s", s.min_s},
          {"mean_s", s.mean_s},
          {"trimmed_mean_s", s.trimmed_mean_s},
          {"half_width", s.half_width},
          {"quality", text_of(s.quality)},
          {"reason", s.reason}};
}
Summary summary_of(const Json& json) {
  Summary s;
  s.n = json.at("n").get<int>();
  s.median_s = json.at("median_s").get<double>();
  s.q25_s = json.at("q25_s").get<double>();
  s.q75_s = json.at("q75_s").get<double>();
  s.min_s = json.at("min_s").get<double>();
  s.mean_s = json.at("mean_s").get<double>();
  s.trimmed_mean_s = json.value("trimmed_mean_s", s.mean_s);  // journals of before it was kept
  s.half_width = json.at("half_width").get<double>();
  s.reason = json.at("reason").get<std::string>();
  const std::string quality = json.at("quality").get<std::string>();
  for (const Quality q : {Quality::good, Quality::unstable, Quality::drifting, Quality::bimodal})
    if (quality == text_of(q)) s.quality = q;
  return s;
}
[[noreturn]] void unwritable(const std::string& path, const char* what) {
  throw EnvironmentError(path + ": " + what + ": " + std::strerror(errno));
}
}  // namespace

Journal::Journal(std::string path, const std::string& identity) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code ignored;
  const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
  std::streamoff whole = 0;  // bytes of complete lines
  bool is_new = true;
  {
    std::ifstream in(path_, std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      if (in.eof()) break;  // no newline behind it: torn by a kill
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded()) break;
      if (is_new) {
        const std::string found = json.value("stepcast_journal", "");
        if (found != identity)
          throw InputError(
              Problem{path_, "line 1",
                      "holds measurements of \"" + found + "\", this run is \"" + identity + "\"",
                      "remove it, or choose another -o"});
        is_new = false;
      } else {
        std::vector<Entry> entries;
        for (const Json& entry : json.at("entries"))
          entries.push_back({entry.at("key").get<std::string>(), summary_of(entry)});
        const std::string task = json.at("task").get<std::string>();
        if (!tasks_.contains(task)) order_.push_back(task);
        tasks_[task] = std::move(entries);
      }
      whole += static_cast<std::streamoff>(line.size()) + 1;
    }
  }
  resumed_ = order_.size();
  const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) unwritable(path_, "cannot be opened");
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor);
    throw EnvironmentError(path_ + ": another calibration is writing it");
  }
  if (::ftruncate(descriptor, whole) != 0 || ::lseek(descriptor, whole, SEEK_SET) < 0)
    unwritable(path_, "cannot be positioned");
  file_ = ::fdopen(descriptor, "r+");
  if (std::fseek(file_, static_cast<long>(whole), SEEK_SET) != 0)
    unwritable(path_, "cannot be positioned");
  if (!is_new) return;
  const std::string header = Json({{"stepcast_journal", identity}}).dump() + "\n";
  if (std::fwrite(header.data(), 1, header.size(), file_) != header.size() ||
      std::fflush(file_) != 0)
    unwritable(path_, "cannot be written");
}
Journal::~Journal() {
  if (file_ != nullptr) std::fclose(file_);
}

void Journal::add(const std::string& task, const std::vector<Entry>& entries) {
  if (!tasks_.contains(task)) order_.push_back(task);
  tasks_[task] = entries;
  if (file_ == nullptr) return;
  Json list = Json::array();
  for (const Entry& entry : entries) {
    Json json = {{"key", entry.key}};
    json.update(json_of(entry.summary));
    list.push_back(std::move(json));
  }
  const std::string line = Json({{"task", task}, {"entries", list}}).dump() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0)
    unwritable(path_, "cannot be written");
}
std::vector<std::string> Journal::tasks() const { return order_; }
std::vector<Entry> Journal::entries() const {
  std::vector<Entry> all;
  std::map<std::string, std::size_t> at;
  for (const std::string& task : order_)
    for (const Entry& entry : tasks_.at(task)) {
      const auto [found, is_new] = at.try_emplace(entry.key, all.size());
      if (is_new)
        all.push_back(entry);
      else
        all[found->second] = entry;
    }
  return all;
}
}  // namespace stepcast::calibrate
