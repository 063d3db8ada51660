#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/import/nccl_tests/nccl_log.hpp"

/// Reading of single lines; nccl_log.cpp strings them together.
namespace stepcast::nccl_tests {
std::vector<std::string_view> words_of(std::string_view line);
/// Drops ANSI colour, "[1,0]<stdout>:" (mpirun --tag-output), "0: " (srun --label) and
/// "pod-launcher | " prefixes.
std::string without_prefix(std::string_view line);
std::optional<double> number_of(std::string_view word);
std::optional<std::int64_t> integer_of(std::string_view word);

/// A data row, or nothing when the line is none. `is_cut` is set when it begins like a row and
/// breaks off.
std::optional<Row> row_of(std::string_view line, bool& is_cut);

struct RankLine {
  int rank = 0;
  std::string host, device;
};
std::optional<RankLine> rank_line_of(std::string_view line);
/// The test named in a line: "all_reduce_perf", "Collective test starting: alltoall_perf", a file
/// name.
Test test_named_in(std::string_view text);
}  // namespace stepcast::nccl_tests
