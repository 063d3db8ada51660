#pragma once
#include <string>
#include <vector>

#include "sim/cli/sweep_table.hpp"
#include "sim/report/chart/chart.hpp"

namespace stepcast {
/// A chart of a sweep: x is the first variation, y a column of the table, one line per combination
/// of the others. Where x is the number of nodes and y a rate, a dashed line continues the first
/// point linearly and the points carry their efficiency against it.
Chart sweep_chart(const SweepTable& table, const std::vector<Variation>& variations,
                  const std::vector<GridPoint>& grid, const std::string& y_column,
                  const std::string& title, const std::string& subtitle);
}  // namespace stepcast
