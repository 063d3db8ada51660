#include "sim/cli/self_usage.hpp"

#include <sys/resource.h>

namespace stepcast {
double peak_rss_MiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}
}  // namespace stepcast
