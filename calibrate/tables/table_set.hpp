#pragma once
#include <set>
#include <string>
#include <vector>

#include "sim/io/csv.hpp"

/// The public measurement tables that profiles are fitted from: a folder with
/// kernels/<gpu>/*.csv(.gz) and kernels/SOURCES.csv (origin and licence of each file).
namespace stepcast {

class TableSet {
 public:
  /// Problems: no kernels/SOURCES.csv under `folder`.
  static Result<TableSet> open(const std::string& folder);

  /// The file is there and its licence (MIT, Apache-2.0) allows shipping what is computed from it.
  bool has_shippable(const std::string& gpu_folder, const std::string& file) const;
  /// Reads kernels/<gpu_folder>/<file> and notes its origin for `citations`. A file whose licence
  /// does not allow shipping a fit of it is an InputError.
  CsvTable kernels(const std::string& gpu_folder, const std::string& file);
  /// "origin (licence)" of every file read since the last call, sorted; ends the list.
  std::vector<std::string> take_citations();
  /// Origin of one file as SOURCES.csv states it.
  std::string origin(const std::string& gpu_folder, const std::string& file) const;

 private:
  TableSet(std::string folder, CsvTable sources)
      : folder_(std::move(folder)), sources_(std::move(sources)) {}
  std::string licence(const std::string& gpu_folder, const std::string& file) const;
  std::string folder_;
  CsvTable sources_;
  std::set<std::string> citations_;
};
}  // namespace stepcast
