#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "runtime/cuda/nccl_plugin_abi.hpp"

/// Profiler and tuner plugin of NCCL in one file, a shared library of its own: writes which
/// algorithm, protocol and channel count each collective ran with, NCCL's own predicted times, and
/// the constants behind them. Durations are CUPTI's business: NCCL's events bracket the enqueue.
///   NCCL_PROFILER_PLUGIN=NCCL_TUNER_PLUGIN=.../libstepcast_nccl_recorder.so
///   STEPCAST_NCCL_RECORD=PREFIX   one JSON object per line into PREFIX.<pid>.jsonl; unset: records
///   nothing STEPCAST_NCCL_FORCE=AllReduce:Ring:LL128   makes NCCL take that algorithm and protocol
///   where it allows them
namespace {
using namespace stepcast::nccl_abi;

std::mutex mutex;
std::FILE* file = nullptr;
int users = 0;

bool open_record() {
  const char* prefix = std::getenv("STEPCAST_NCCL_RECORD");
  if (prefix == nullptr || *prefix == '\0') return false;
  const std::lock_guard lock(mutex);
  if (file == nullptr)
    file =
        std::fopen((std::string(prefix) + "." + std::to_string(getpid()) + ".jsonl").c_str(), "a");
  if (file == nullptr) {
    std::fprintf(stderr, "stepcast_nccl_recorder: cannot write %s.%d.jsonl: %s\n", prefix, getpid(),
                 std::strerror(errno));
    return false;
  }
  ++users;
  return true;
}
void close_record() {
  const std::lock_guard lock(mutex);
  if (--users == 0) {
    std::fclose(file);
    file = nullptr;
  }
}
void write_line(const std::string& line) {
  const std::lock_guard lock(mutex);
  if (file != nullptr) std::fprintf(file, "%s\n", line.c_str());
}
std::string quoted(const char* text) {
  std::string result = "\"";
  for (const char* c = text == nullptr ? "" : text; *c != '\0'; ++c) {
    if (*c == '"' || *c == '\\') result += '\\';
    result += static_cast<unsigned char>(*c) < 0x20 ? ' ' : *c;
  }
  return result + "\"";
}
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}
std::string communicator_text(std::uint64_t id) {
  char text[24];
  std::snprintf(text, sizeof text, "\"%016llx\"", static_cast<unsigned long long>(id));
  return text;
}

struct ProfilerContext {
  std::uint64_t communicator;
  int rank;
};
ncclResult_t profiler_init(void** context, std::uint64_t communicator, int* mask, const char* name,
                           int nodes, int ranks, int rank, Logger) {
  *mask = 0;
  *context = nullptr;
  if (!open_record()) return ncclSuccess;
  *context = new ProfilerContext{communicator, rank};
  *mask = static_cast<int>(kColl | kP2p);
  write_line("{\"event\":\"communicator\",\"communicator\":" + communicator_text(communicator) +
             ",\"name\":" + quoted(name) + ",\"nodes\":" + std::to_string(nodes) +
             ",\"ranks\":" + std::to_string(ranks) + ",\"rank\":" + std::to_string(rank) + "}");
  return ncclSuccess;
}
ncclResult_t profiler_start(void* context, void** handle, Event* event) {
  *handle = nullptr;
  const auto* own = static_cast<const ProfilerContext*>(context);
  if (own == nullptr) return ncclSuccess;
  const std::string head = ",\"communicator\":" + communicator_text(own->communicator) +
                           ",\"rank\":" + std::to_string(event->rank);
  if (event->type == kColl) {
    const CollEvent& c = event->coll;
    write_line("{\"event\":\"collective\"" + head + ",\"sequence\":" + std::to_string(c.sequence) +
               ",\"function\":" + quoted(c.function) + ",\"count\":" + std::to_string(c.count) +
               ",\"datatype\":" + quoted(c.datatype) + ",\"algorithm\":" + quoted(c.algorithm) +
               ",\"protocol\":" + quoted(c.protocol) + ",\"channels\":" +
               std::to_string(c.channels) + ",\"warps\":" + std::to_string(c.warps) + "}");
  } else if (event->type == kP2p) {
    const P2pEvent& p = event->p2p;
    write_line("{\"event\":\"p2p\"" + head + ",\"function\":" + quoted(p.function) +
               ",\"count\":" + std::to_string(p.count) + ",\"datatype\":" + quoted(p.datatype) +
               ",\"peer\":" + std::to_string(p.peer) +
               ",\"channels\":" + std::to_string(p.channels) + "}");
  }
  return ncclSuccess;
}
ncclResult_t profiler_stop(void*) { return ncclSuccess; }
ncclResult_t profiler_state(void*, int, void*) { return ncclSuccess; }
ncclResult_t profiler_finalize(void* context) {
  if (context == nullptr) return ncclSuccess;
  delete static_cast<ProfilerContext*>(context);
  close_record();
  return ncclSuccess;
}

struct TunerContext {
  std::uint64_t communicator;
  bool is_recording;
  std::string force;  // "AllReduce:Ring:LL128" or empty
};
ncclResult_t tuner_init(void** context, std::uint64_t communicator, std::size_t ranks,
                        std::size_t nodes, Logger, NvlDomains*, TunerConstants* constants) {
  const char* force = std::getenv("STEPCAST_NCCL_FORCE");
  auto* own = new TunerContext{communicator, open_record(), force == nullptr ? "" : force};
  *context = own;
  if (!own->is_recording || constants == nullptr) return ncclSuccess;
  std::string line =
      "{\"event\":\"constants\",\"communicator\":" + communicator_text(communicator) +
      ",\"ranks\":" + std::to_string(ranks) + ",\"nodes\":" + std::to_string(nodes) +
      ",\"base_latency_us\":{";
  for (int a = 0; a < kAlgorithms; ++a)
    for (int p = 0; p < kProtocols; ++p)
      line += std::string(a + p > 0 ? "," : "") + "\"" + kAlgorithmNames[a] + "/" +
              kProtocolNames[p] + "\":" + number(constants->base_latency[a][p]);
  write_line(line + "}}");
  return ncclSuccess;
}
/// `costs` is a dense [algorithms][protocols] array behind the declared pointer type; -1: not
/// possible here.
ncclResult_t tuner_info(void* context, int function, std::size_t bytes, int, float** costs,
                        int algorithms, int protocols, int, int*) {
  const auto* own = static_cast<const TunerContext*>(context);
  auto* table = reinterpret_cast<float*>(costs);
  const char* name = function >= 0 && function < static_cast<int>(std::size(kFunctionNames))
                         ? kFunctionNames[function]
                         : "other";
  std::string line =
      "{\"event\":\"cost\",\"communicator\":" + communicator_text(own->communicator) +
      ",\"function\":\"" + name + "\",\"bytes\":" + std::to_string(bytes) + ",\"predicted_us\":{";
  bool is_first = true;
  for (int a = 0; a < algorithms && a < kAlgorithms; ++a)
    for (int p = 0; p < protocols && p < kProtocols; ++p) {
      float& cost = table[a * protocols + p];
      if (cost < 0) continue;
      line += std::string(is_first ? "" : ",") + "\"" + kAlgorithmNames[a] + "/" +
              kProtocolNames[p] + "\":" + number(static_cast<double>(cost));
      is_first = false;
      if (own->force == std::string(name) + ":" + kAlgorithmNames[a] + ":" + kProtocolNames[p])
        cost = 0.0f;  // the cheapest, so NCCL takes it
    }
  if (own->is_recording) write_line(line + "}}");
  return ncclSuccess;
}
ncclResult_t tuner_finalize(void* context) {
  const auto* own = static_cast<TunerContext*>(context);
  if (own->is_recording) close_record();
  delete own;
  return ncclSuccess;
}
}  // namespace

extern "C" {
__attribute__((visibility("default"))) extern const Profiler ncclProfiler_v5;
__attribute__((visibility("default"))) extern const Tuner ncclTunerPlugin_v5;
const Profiler ncclProfiler_v5{"stepcast",    profiler_init,  profiler_start,
                               profiler_stop, profiler_state, profiler_finalize};
const Tuner ncclTunerPlugin_v5{"stepcast", tuner_init, tuner_info, tuner_finalize};
}
