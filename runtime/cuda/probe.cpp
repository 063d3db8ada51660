#include "runtime/cuda/probe.hpp"

#include <cuda_runtime_api.h>
#include <algorithm>
#include <iterator>

#include "runtime/cuda/cublaslt.hpp"
#include "runtime/cuda/cupti_source.hpp"
#include "runtime/cuda/library.hpp"
#include "runtime/cuda/nccl_communicator.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
std::string version_text(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// What cudaGetDeviceCount's error means, in words. Its own text for a machine without a driver is
/// "insufficient driver".
std::string cause_of(cudaError_t status, int driver, int runtime) {
  if (status == cudaErrorInsufficientDriver && driver == 0)
    return "no NVIDIA driver on this machine (libcuda.so.1 is missing or does not load)";
  if (status == cudaErrorInsufficientDriver)
    return "the NVIDIA driver offers CUDA " + version_text(driver) + ", this build needs " +
           version_text(runtime);
  if (status == cudaErrorStubLibrary)
    return "the CUDA toolkit's stub of libcuda is on the library path in front of the driver";
  if (status == cudaErrorNoDevice)
    return "the NVIDIA driver is there, but no GPU is visible to this process";
  return std::string("the CUDA runtime answers ") + cudaGetErrorName(status) + " (" +
         cudaGetErrorString(status) + ")";
}
std::string remedy_of(cudaError_t status, int driver) {
  if (status == cudaErrorInsufficientDriver && driver == 0)
    return "to use a GPU: run on a machine with one, with the NVIDIA driver installed (nvidia-smi "
           "must work)";
  if (status == cudaErrorInsufficientDriver) return "to use it: update the driver";
  if (status == cudaErrorStubLibrary)
    return "to use a GPU: take .../lib64/stubs off LD_LIBRARY_PATH";
  if (status == cudaErrorNoDevice)
    return "to use one: check CUDA_VISIBLE_DEVICES, the container's --gpus option and nvidia-smi";
  return "see nvidia-smi and the kernel log";
}

/// Datasheet figures of the parts this project has profiles of, dense; everything else stays 0 and
/// is measured. Sources: NVIDIA A100 (2021), H100 (2023), H200 (2024) and Blackwell (2025)
/// datasheets, SXM forms.
struct Datasheet {
  const char* part;
  double fp32, tf32, half, fp8, bandwidth;
};
constexpr Datasheet kDatasheets[] = {
    {"A100-SXM4-80GB", 19.5e12, 156e12, 312e12, 0, 2.039e12},
    {"A100-SXM4-40GB", 19.5e12, 156e12, 312e12, 0, 1.555e12},
    {"H100 80GB HBM3", 67e12, 494.7e12, 989.4e12, 1978.9e12, 3.35e12},
    {"H200", 67e12, 494.7e12, 989.4e12, 1978.9e12, 4.8e12},
    {"B200", 75e12, 1.1e15, 2.25e15, 4.5e15, 8.0e12}};

DeviceInfo info_of(int ordinal, int driver, int runtime) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess)
    throw EnvironmentError("cudaGetDeviceProperties failed for device " + std::to_string(ordinal));
  DeviceInfo info;
  info.name = properties.name;
  info.architecture = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
  info.versions = {{"driver", version_text(driver)}, {"cudart", version_text(runtime)}};
  info.compute_units = properties.multiProcessorCount;
  info.memory = Bytes(static_cast<std::int64_t>(properties.totalGlobalMem));
  int clock = 0;  // kHz
  if (cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, ordinal) == cudaSuccess)
    info.clock_MHz = clock / 1000.0;
  for (const Datasheet& sheet : kDatasheets) {
    if (info.name.find(sheet.part) == std::string::npos) continue;
    const double peaks[6] = {sheet.fp32, sheet.tf32, sheet.half, sheet.half, sheet.fp8, sheet.fp8};
    std::copy(std::begin(peaks), std::end(peaks), std::begin(info.peak_flops));
    info.memory_bandwidth = sheet.bandwidth;
    break;
  }
  return info;
}
void add_library(ProbeReport& report, const char* part, bool is_present, std::string found,
                 const char* consequence) {
  report.items.push_back({part, is_present, std::move(found), is_present ? "" : consequence});
}
template <class Version>
std::string found_version(bool is_present, const char* soname, const Version& version) {
  if (!is_present) return std::string(soname) + " cannot be opened";
  try {
    return version();
  } catch (const std::exception& error) {
    return error.what();
  }
}
}  // namespace

ProbeReport probe_cuda() {
  ProbeReport report;
  report.backend = "cuda";
  report.alternative = "without a GPU: --backend cpu measures this machine's CPU";
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const cudaError_t status = cudaGetDeviceCount(&count);
  static_cast<void>(cudaGetLastError());
  report.is_usable = status == cudaSuccess && count > 0;
  add_library(report, "driver", driver > 0, driver > 0 ? "CUDA " + version_text(driver) : "none",
              "no GPU can be used");
  add_library(report, "cudart", true, version_text(runtime), "");
  if (report.is_usable) {
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      report.devices.push_back(info_of(ordinal, driver, runtime));
      const DeviceInfo& info = report.devices.back();
      report.items.push_back({"device " + std::to_string(ordinal), true,
                              info.name + ", " + info.architecture + ", " +
                                  std::to_string(info.compute_units) + " SMs, " +
                                  std::to_string(info.memory.value >> 20) + " MiB",
                              ""});
    }
    report.alternative.clear();
  } else {
    const cudaError_t cause = status == cudaSuccess ? cudaErrorNoDevice : status;
    report.missing = "backend cuda: " + cause_of(cause, driver, runtime);
    report.remedy = remedy_of(cause, driver);
    report.items.push_back(
        {"device", false, cause_of(cause, driver, runtime), "nothing can be measured on a GPU"});
  }
  Library cublas("libcublasLt.so.13", "cuBLAS");
  const bool has_cublas = cublas.is_present();
  add_library(report, "cuBLASLt", has_cublas,
              found_version(has_cublas, cublas.soname(),
                            [] { return std::to_string(CublasLt::version()); }),
              "no matrix products, so no training step");
  add_library(report, "NCCL", nccl_is_present(),
              found_version(nccl_is_present(), "libnccl.so.2",
                            [] {
                              const int v = nccl_version();
                              return std::to_string(v / 10000) + "." +
                                     std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
                            }),
              "no collectives: one GPU only");
  add_library(report, "CUPTI", cupti::is_present(),
              found_version(cupti::is_present(), "libcupti.so.13",
                            [] { return std::to_string(cupti::version()); }),
              "no traces of kernels; events still time whole segments");
  return report;
}
}  // namespace stepcast::runtime
