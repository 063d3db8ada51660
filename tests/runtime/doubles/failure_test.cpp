#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/runtime/doubles/plugin.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

namespace {
/// One of everything that a step asks of a device.
void use_everything(Backend& backend) {
  const auto device = backend.open(0);
  const auto stream = device->new_stream("compute"), side = device->new_stream("side");
  const auto event = device->new_event(true), other = device->new_event();
  Buffer x = put(*device, *stream, numbers(64, 1)), y(*device, 64, Precision::fp32);
  device->fill_zero(*stream, y.data(), y.bytes());
  stream->record(*event);
  device->kernels().gemm(
      *stream,
      {.a = x.view(), .b = x.view(), .c = y.view(), .m = 8, .n = 8, .k = 8, .bias = x.view()});
  device->kernels().gemm(*stream, {.a = x.view(),
                                   .b = x.view(),
                                   .c = y.view(),
                                   .m = 4,
                                   .n = 4,
                                   .k = 4,
                                   .batch = 2,
                                   .stride_a = 16,
                                   .stride_b = 16,
                                   .stride_c = 16});
  make_wait(*side, *stream, *other);
  device->kernels().scale(*side, x.view(), 2.0f, 64);
  const auto graph =
      device->capture(*stream, [&] { device->kernels().scale(*stream, x.view(), 2.0f, 64); });
  graph->launch(*stream);
  stream->record(*event);
  event->wait();
  event->reached_at();
  stream->synchronise();
  device->synchronise();
}
}  // namespace

TEST_CASE("a failure of any call is an error that names the call and nothing leaks", "[doubles]") {
  const auto backend = plugin();
  use_everything(*backend);
  const int before = live_objects();
  const auto cublas_live = from_double<int()>("libcublasLt.so.13", "stepcast_double_cublas_live");
  const int cublas_before = cublas_live();
  int raised = 0;
  for (const char* function : {"cudaSetDevice",
                               "cudaMalloc",
                               "cudaHostAlloc",
                               "cudaMemcpyAsync",
                               "cudaMemsetAsync",
                               "cudaStreamCreateWithPriority",
                               "cudaStreamQuery",
                               "cudaStreamWaitEvent",
                               "cudaStreamBeginCapture",
                               "cudaStreamEndCapture",
                               "cudaGraphInstantiate",
                               "cudaGraphLaunch",
                               "cudaEventCreateWithFlags",
                               "cudaEventRecord",
                               "cudaEventQuery",
                               "cudaEventSynchronize",
                               "cudaEventElapsedTime",
                               "cudaLaunchKernel",
                               "cudaDeviceSynchronize",
                               "cublasLtCreate",
                               "cublasLtMatmulDescCreate",
                               "cublasLtMatmulDescSetAttribute",
                               "cublasLtMatrixLayoutCreate",
                               "cublasLtMatrixLayoutSetAttribute",
                               "cublasLtMatmulPreferenceCreate",
                               "cublasLtMatmulPreferenceSetAttribute",
                               "cublasLtMatmulAlgoGetHeuristic",
                               "cublasLtMatmul"}) {
    int met = 0;
    for (int n = 1; n <= 3; ++n) {
      fail_at(function, n);
      try {
        use_everything(*backend);
      } catch (const EnvironmentError& error) {
        ++met;
        INFO(function << " call " << n << ": " << error.what());
        REQUIRE(std::string(error.what()).size() > 20);
      }
      fail_at("", 0);
      INFO(function << " call " << n);
      REQUIRE(live_objects() == before);
      REQUIRE(cublas_live() == cublas_before);
    }
    INFO(function);
    REQUIRE(met > 0);
    raised += met;
  }
  REQUIRE(raised >= 40);
}

TEST_CASE("too much memory is refused with the bytes asked and the bytes free", "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(0);
  REQUIRE_THROWS_WITH(device->allocate(Bytes(std::int64_t{1} << 40), MemoryKind::device),
                      Catch::Contains("no room for 1099511627776 bytes") &&
                          Catch::Contains("1048576 of 1073741824 bytes are free"));
}

TEST_CASE("a rank without a GPU of its own is told how many there are", "[doubles]") {
  const auto backend = plugin();
  REQUIRE_THROWS_WITH(backend->open(2), Catch::Contains("local rank 2 has no GPU") &&
                                            Catch::Contains("this machine shows 2"));
}

TEST_CASE("a machine without a driver is described in three lines", "[doubles]") {
  const auto backend = plugin();
  setenv("STEPCAST_DOUBLE_DEVICES", "0", 1);
  const ProbeReport report = backend->probe();
  std::string text;
  try {
    backend->open(0);
  } catch (const EnvironmentError& error) {
    text = error.what();
  }
  unsetenv("STEPCAST_DOUBLE_DEVICES");
  REQUIRE_FALSE(report.is_usable);
  REQUIRE(text.find("no NVIDIA driver on this machine") != std::string::npos);
  REQUIRE(std::count(text.begin(), text.end(), '\n') == 2);
  REQUIRE(text.find("--backend cpu") != std::string::npos);
}

TEST_CASE("the probe lists devices and libraries with their versions", "[doubles]") {
  const ProbeReport report = plugin()->probe();
  REQUIRE(report.is_usable);
  REQUIRE(report.devices.size() == 2);
  REQUIRE(report.devices[0].architecture == "sm_90");
  std::map<std::string, std::string> found;
  for (const ProbeItem& item : report.items) found[item.part] = item.found;
  REQUIRE(found["cuBLASLt"] == "130000");
  REQUIRE(found["NCCL"] == "2.28.9");
}
