#pragma once
#include <string_view>

/// What a loader worker does for a batch, in traces.
namespace stepcast::op {
inline constexpr std::string_view data_read = "data_read", data_cache_read = "data_cache_read",
                                  data_decode = "data_decode", data_send = "data_send";
}  // namespace stepcast::op
