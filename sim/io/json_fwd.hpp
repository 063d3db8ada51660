#pragma once
#include <nlohmann/json_fwd.hpp>

namespace stepcast {
using Json = nlohmann::ordered_json;
}
