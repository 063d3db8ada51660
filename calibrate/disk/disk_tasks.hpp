#pragma once
#include <string>

#include "calibrate/kernels/kernel_tasks.hpp"

namespace stepcast::calibrate {
/// Real files in `folder`: "disk/write" and "disk/fsync" per MiB of a checkpoint part, "disk/read"
/// of it after its pages were dropped from the page cache (posix_fadvise),
/// "transfer/to_device/<bytes>" and "transfer/to_host/<bytes>" between pinned host and device
/// memory. Written files are removed.
std::vector<Task> disk_tasks(Depth depth, std::string folder);
}  // namespace stepcast::calibrate
