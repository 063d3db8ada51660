#include "sim/cli/sweep_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sim/core/result.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/files.hpp"
#include "sim/timeline/category.hpp"

namespace stepcast {
namespace {
std::string line_of(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + csv_cell(cell);
  return line + "\n";
}
}  // namespace

const std::vector<std::string>& SweepTable::figure_columns() {
  static const std::vector<std::string> columns = [] {
    std::vector<std::string> all{"step_time_s",
                                 "step_time_p05_s",
                                 "step_time_p95_s",
                                 "tokens_per_s",
                                 "samples_per_s",
                                 "model_flops_utilization",
                                 "hardware_flops_utilization",
                                 "memory_worst_GiB",
                                 "fits",
                                 "usd_per_step",
                                 "gpus"};
    for (const auto& [category, name] : EnumText<Category>::table)
      all.push_back(std::string(name) + "_s");
    for (const char* column : {"straggler_slowdown", "step_time_p99_s", "mean_staleness",
                               "network_bytes", "simulation_wall_s"})
      all.push_back(column);
    return all;
  }();
  return columns;
}

SweepTable::SweepTable(std::string path, const std::vector<Variation>& variations,
                       std::string fingerprint)
    : path_(std::move(path)), fingerprint_(std::move(fingerprint)) {
  for (const Variation& v : variations) pointers_.push_back(v.pointer);
  std::error_code error;
  if (const auto parent = std::filesystem::path(path_).parent_path(); !parent.empty()) {
    std::filesystem::create_directories(parent, error);
    if (error) throw EnvironmentError(parent.string() + ": cannot be created: " + error.message());
  }
  const bool is_new =
      !std::filesystem::exists(path_, error) || std::filesystem::file_size(path_, error) == 0;
  if (!is_new) read_existing();
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) throw EnvironmentError(path_ + ": cannot be written: " + std::strerror(errno));
  if (is_new) {
    append(line_of(header()));
  }
}
SweepTable::~SweepTable() {
  if (file_ >= 0) close(file_);
}

std::vector<std::string> SweepTable::header() const {
  std::vector<std::string> columns{"sweep"};
  columns.insert(columns.end(), pointers_.begin(), pointers_.end());
  columns.push_back("status");
  columns.insert(columns.end(), figure_columns().begin(), figure_columns().end());
  return columns;
}

void SweepTable::read_existing() {
  std::string text = read_file(path_).value_or_throw();
  if (!text.empty() && text.back() != '\n') {  // a line that a kill tore
    text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
    if (truncate(path_.c_str(), static_cast<off_t>(text.size())) != 0)
      throw EnvironmentError(path_ + ": cannot be shortened: " + std::strerror(errno));
  }
  const auto table = CsvTable::parse(text, path_).value_or_throw();
  if (table.header() != header())
    throw InputError(Problem{path_, "line 1", "holds another sweep: its columns differ",
                             "name another file with -o or remove this one"});
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "sweep") != fingerprint_)
      throw InputError(Problem{path_, "line " + std::to_string(table.line_of(row)),
                               "comes from another scenario, engine or version",
                               "name another file with -o or remove this one"});
    GridPoint point;
    for (const std::string& pointer : pointers_) point.push_back(table.text(row, pointer));
    std::vector<std::string> cells;
    for (const std::string& column : table.header()) cells.push_back(table.text(row, column));
    rows_[point] = cells;
  }
}

void SweepTable::append(const std::string& line) {
  // A descriptor opened for appending: the line is there whole or torn at the end, never in the
  // middle. A full disk takes a part first and tells why on the next write.
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t count = write(file_, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw EnvironmentError(path_ + ": cannot be written: " + std::strerror(errno));
    done += static_cast<std::size_t>(count);
  }
}

void SweepTable::add(const GridPoint& point, const std::string& status,
                     const std::map<std::string, std::string>& figures) {
  std::vector<std::string> cells{fingerprint_};
  cells.insert(cells.end(), point.begin(), point.end());
  cells.push_back(status);
  for (const std::string& column : figure_columns()) {
    const auto at = figures.find(column);
    cells.push_back(at == figures.end() ? "" : at->second);
  }
  append(line_of(cells));
  rows_[point] = cells;
}

void SweepTable::sort_by(const std::vector<GridPoint>& order) {
  std::string text = line_of(header());
  auto left = rows_;
  for (const GridPoint& point : order)
    if (const auto at = left.find(point); at != left.end()) {
      text += line_of(at->second);
      left.erase(at);
    }
  for (const auto& [point, cells] : left)
    text += line_of(cells);  // points of a larger grid swept before
  write_file(path_, text);
}

double SweepTable::figure(const GridPoint& point, const std::string& column) const {
  const auto row = rows_.find(point);
  const auto columns = header();
  if (row == rows_.end()) return NAN;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == column && !row->second[i].empty())
      return std::strtod(row->second[i].c_str(), nullptr);
  return NAN;
}
const std::string& SweepTable::status(const GridPoint& point) const {
  return rows_.at(point)[1 + pointers_.size()];
}
}  // namespace stepcast
