#pragma once
#include <nccl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

/// Binary layout of NCCL's plugin interfaces, which its public header does not carry: profiler v5
/// and tuner v5, as NCCL 2.28 loads them. Source of layout and order:
/// src/include/plugin/profiler/profiler_v5.h and tuner/tuner_v5.h of NCCL.
namespace stepcast::nccl_abi {
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

enum EventType : std::uint64_t { kGroup = 1, kColl = 2, kP2p = 4, kKernelLaunch = 1u << 11 };

struct CollEvent {
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
  void* group;
};
struct P2pEvent {
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* group;
};
struct Event {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    CollEvent coll;
    P2pEvent p2p;
    struct {
      void* stream;
    } launch;
  };
};
static_assert(offsetof(Event, coll) == 24 && sizeof(CollEvent) == 88 && sizeof(Event) == 112,
              "as NCCL 2.28 passes it on 64-bit Linux");
static_assert(offsetof(CollEvent, algorithm) == 64, "as NCCL 2.28 passes it on 64-bit Linux");

struct Profiler {
  const char* name;
  ncclResult_t (*init)(void** context, std::uint64_t communicator, int* mask, const char* name,
                       int nodes, int ranks, int rank, Logger);
  ncclResult_t (*start)(void* context, void** handle, Event*);
  ncclResult_t (*stop)(void* handle);
  ncclResult_t (*state)(void* handle, int state, void* arguments);
  ncclResult_t (*finalize)(void* context);
};

inline constexpr int kAlgorithms = 7, kProtocols = 3;
inline constexpr const char* kAlgorithmNames[kAlgorithms] = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
inline constexpr const char* kProtocolNames[kProtocols] = {"LL", "LL128", "Simple"};
inline constexpr const char* kFunctionNames[] = {"Broadcast", "Reduce", "AllGather",
                                                 "ReduceScatter", "AllReduce"};

struct TunerConstants {
  double base_latency[kAlgorithms][kProtocols];         // us
  double hardware_latency[3][kAlgorithms][kProtocols];  // us; NVLink, PCIe, network
  double bandwidths[5][4][3];  // GB/s: LL, ring LL128, tree LL128, tree, NVLS tree; by compute
                               // capability and scale
};
static_assert(sizeof(TunerConstants) == 8 * (21 + 63 + 60), "as NCCL 2.28 passes it");
struct NvlDomains {
  int count, least_ranks, most_ranks;
};
struct Tuner {
  const char* name;
  ncclResult_t (*init)(void** context, std::uint64_t communicator, std::size_t ranks,
                       std::size_t nodes, Logger, NvlDomains*, TunerConstants*);
  ncclResult_t (*info)(void* context, int function, std::size_t bytes, int pipelined, float** costs,
                       int algorithms, int protocols, int registered, int* channels);
  ncclResult_t (*finalize)(void* context);
};
}  // namespace stepcast::nccl_abi
