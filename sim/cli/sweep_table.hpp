#pragma once
#include <map>
#include <string>
#include <vector>

#include "sim/cli/grid.hpp"

namespace stepcast {
/// The CSV of a sweep: one line per finished point, appended whole, so that a kill at any moment
/// loses at most the points under way. Columns: `sweep` (what was swept: a fingerprint), the varied
/// pointers, `status` (ok, or the problem), then figures.
class SweepTable {
 public:
  /// Opens or creates the file. A torn last line is cut off. Throws InputError when the file holds
  /// other columns, and EnvironmentError when it cannot be written.
  SweepTable(std::string path, const std::vector<Variation>& variations, std::string fingerprint);
  ~SweepTable();
  SweepTable(const SweepTable&) = delete;
  SweepTable& operator=(const SweepTable&) = delete;

  bool has(const GridPoint& point) const { return rows_.contains(point); }
  /// Appends one line and hands it to the system before returning.
  void add(const GridPoint& point, const std::string& status,
           const std::map<std::string, std::string>& figures);
  /// Writes the file anew in grid order, through a temporary file and a rename.
  void sort_by(const std::vector<GridPoint>& order);
  /// A figure of a finished point as a number; NaN where it has none.
  double figure(const GridPoint& point, const std::string& column) const;
  const std::string& status(const GridPoint& point) const;
  static const std::vector<std::string>& figure_columns();

 private:
  std::vector<std::string> header() const;
  void append(const std::string& line);
  void read_existing();
  std::string path_, fingerprint_;
  std::vector<std::string> pointers_;
  std::map<GridPoint, std::vector<std::string>> rows_;  // cells of the line
  int file_ = -1;
};
}  // namespace stepcast
