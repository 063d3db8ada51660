#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/cuda/nccl_plugin_abi.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::nccl_abi;

namespace {
template <class Table>
const Table& exported(const char* name) {
  void* library = dlopen(STEPCAST_NCCL_RECORDER, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) FAIL(dlerror());
  const void* found = dlsym(library, name);
  REQUIRE(found != nullptr);
  return *static_cast<const Table*>(found);
}
std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::remove(path.c_str());
  return text.str();
}
}  // namespace

TEST_CASE("the NCCL profiler plugin records algorithm protocol and channels of a collective",
          "[cuda]") {
  const std::string prefix = "/tmp/stepcast_nccl_" + std::to_string(getpid());
  setenv("STEPCAST_NCCL_RECORD", prefix.c_str(), 1);
  const auto& profiler = exported<Profiler>("ncclProfiler_v5");
  void *context = nullptr, *handle = nullptr;
  int mask = 0;
  REQUIRE(profiler.init(&context, 0xabc, &mask, "dp \"zero\"", 1, 8, 3, nullptr) == ncclSuccess);
  REQUIRE(mask == (kColl | kP2p));
  Event event{};
  event.type = kColl;
  event.rank = 3;
  event.coll = {5,  "AllReduce", nullptr, nullptr, 1024,   0, "ncclFloat32",
                16, 20,          "RING",  "LL128", nullptr};
  REQUIRE(profiler.start(context, &handle, &event) == ncclSuccess);
  REQUIRE(profiler.stop(handle) == ncclSuccess);
  REQUIRE(profiler.finalize(context) == ncclSuccess);
  unsetenv("STEPCAST_NCCL_RECORD");
  REQUIRE(text_of_file(prefix + "." + std::to_string(getpid()) + ".jsonl") ==
          "{\"event\":\"communicator\",\"communicator\":\"0000000000000abc\",\"name\":\"dp "
          "\\\"zero\\\"\",\"nodes\":1,\"ranks\":8,\"rank\":3}\n"
          "{\"event\":\"collective\",\"communicator\":\"0000000000000abc\",\"rank\":3,\"sequence\":"
          "5,\"function\":\"AllReduce\",\"count\":1024,"
          "\"datatype\":\"ncclFloat32\",\"algorithm\":\"RING\",\"protocol\":\"LL128\",\"channels\":"
          "16,\"warps\":20}\n");
}

TEST_CASE("the NCCL tuner plugin records predicted times and forces what is asked", "[cuda]") {
  const std::string prefix = "/tmp/stepcast_nccl_tuner_" + std::to_string(getpid());
  setenv("STEPCAST_NCCL_RECORD", prefix.c_str(), 1);
  setenv("STEPCAST_NCCL_FORCE", "AllReduce:Ring:LL128", 1);
  const auto& tuner = exported<Tuner>("ncclTunerPlugin_v5");
  void* context = nullptr;
  TunerConstants constants{};
  constants.base_latency[1][2] = 8.4;
  REQUIRE(tuner.init(&context, 1, 8, 1, nullptr, nullptr, &constants) == ncclSuccess);
  float costs[kAlgorithms][kProtocols];
  for (auto& row : costs)
    for (float& cost : row) cost = -1.0f;
  costs[1][1] = 20.5f;
  costs[1][2] = 30.25f;
  int channels = 0;
  REQUIRE(tuner.info(context, 4, 4096, 1, reinterpret_cast<float**>(&costs), kAlgorithms,
                     kProtocols, 0, &channels) == ncclSuccess);
  REQUIRE(costs[1][1] == 0.0f);    // forced
  REQUIRE(costs[1][2] == 30.25f);  // left alone
  REQUIRE(costs[0][0] == -1.0f);   // what is impossible stays so
  REQUIRE(tuner.finalize(context) == ncclSuccess);
  unsetenv("STEPCAST_NCCL_RECORD");
  unsetenv("STEPCAST_NCCL_FORCE");
  const std::string text = text_of_file(prefix + "." + std::to_string(getpid()) + ".jsonl");
  REQUIRE(text.find("\"event\":\"constants\"") != std::string::npos);
  REQUIRE(text.find("\"Ring/Simple\":8.4") != std::string::npos);
  REQUIRE(text.find("\"function\":\"AllReduce\",\"bytes\":4096,\"predicted_us\":{\"Ring/"
                    "LL128\":20.5,\"Ring/Simple\":30.25}}") != std::string::npos);
}

TEST_CASE("without a file to write to the NCCL plugins ask for no events", "[cuda]") {
  unsetenv("STEPCAST_NCCL_RECORD");
  const auto& profiler = exported<Profiler>("ncclProfiler_v5");
  void* context = nullptr;
  int mask = 7;
  REQUIRE(profiler.init(&context, 1, &mask, nullptr, 1, 1, 0, nullptr) == ncclSuccess);
  REQUIRE(mask == 0);
  REQUIRE(profiler.finalize(context) == ncclSuccess);
}
