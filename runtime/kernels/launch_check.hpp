#pragma once
namespace stepcast::runtime {
/// Throws EnvironmentError naming kernel and cause when `status` (a cudaError_t) is not success.
/// Defined by the plugin.
void check_launch(int status, const char* kernel);
}  // namespace stepcast::runtime
