#pragma once
#include <vector>

#include "sim/data/data_forecast.hpp"
#include "sim/data/loader_site.hpp"

namespace stepcast {
/// Samples per second that each resource of the loading path allows by itself, smallest first.
/// Resources without a limit are left out.
std::vector<DataBound> data_bounds(const DataSpec& data, const LoaderSite& site);

/// Everything that a report says about loading. `step_s`: the training step when no batch is
/// late.
DataForecast data_forecast(const DataSpec& data, const LoaderSite& site, double step_s);
}  // namespace stepcast
