#pragma once
#include "runtime/backend/backend.hpp"

namespace stepcast::runtime {
std::unique_ptr<Backend> new_cpu_backend();
}
