#include <fcntl.h>
#include <nccl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/compress/number_formats.hpp"
#include "tests/runtime/doubles/control.hpp"

/// A double of libnccl.so.2: ranks are threads or processes that share a file in memory.
/// Collectives are stream work, so they wait for slow ranks on the stream as the real ones do;
/// every one is made of chunks through mailboxes, one for each (from, to).
using namespace stepcast::runtime;
namespace {
constexpr int kMost = 8;
constexpr std::size_t kChunk = 32 * 1024;
struct Mailbox {
  std::atomic<int> is_full;
  std::size_t bytes;
  unsigned char data[kChunk];
};
struct Hall {
  std::atomic<int> joined, is_aborted;
  Mailbox boxes[kMost][kMost];
};
struct Transfer {
  bool is_send;
  unsigned char* data;
  std::size_t bytes;
  int peer;
  std::size_t done = 0;
};
std::size_t width_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat32:
    case ncclInt32:
      return 4;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    default:
      return 1;
  }
}
}  // namespace

struct ncclComm {
  Hall* hall = nullptr;
  int rank = 0, size = 0;
  std::string name;
  std::atomic<int> state{ncclSuccess};
  std::thread joining;

  /// Moves all transfers together, so that no order of sends and receives can block another. False
  /// when the group was aborted.
  bool move(std::vector<Transfer> transfers) const {
    std::size_t left = transfers.size();
    while (left > 0) {
      bool moved = false;
      left = 0;
      for (Transfer& t : transfers) {
        if (t.done >= t.bytes) continue;
        ++left;
        Mailbox& box = t.is_send ? hall->boxes[rank][t.peer] : hall->boxes[t.peer][rank];
        if (box.is_full.load() != (t.is_send ? 0 : 1)) continue;
        if (t.is_send) {
          box.bytes = std::min(kChunk, t.bytes - t.done);
          std::memcpy(box.data, t.data + t.done, box.bytes);
        } else {
          std::memcpy(t.data + t.done, box.data, box.bytes);
        }
        t.done += box.bytes;
        box.is_full.store(t.is_send ? 1 : 0);
        moved = true;
      }
      if (hall->is_aborted.load() != 0) return false;
      if (!moved && left > 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }
  /// Everybody's buffer of `bytes`, in order of rank.
  bool gather(const void* own, void* all, std::size_t bytes) const {
    std::vector<Transfer> transfers;
    auto* to = static_cast<unsigned char*>(all);
    std::vector<unsigned char> copy(static_cast<const unsigned char*>(own),
                                    static_cast<const unsigned char*>(own) + bytes);
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      transfers.push_back({true, copy.data(), bytes, peer});
      transfers.push_back({false, to + static_cast<std::size_t>(peer) * bytes, bytes, peer});
    }
    std::memcpy(to + static_cast<std::size_t>(rank) * bytes, copy.data(), bytes);
    return move(std::move(transfers));
  }
};

namespace {
thread_local int group_depth = 0;
struct Pending {
  ncclComm_t communicator;
  cudaStream_t stream;
  Transfer transfer;
};
thread_local std::vector<Pending> pending;

float element(const unsigned char* data, ncclDataType_t type, std::size_t i) {
  if (type == ncclFloat32) return reinterpret_cast<const float*>(data)[i];
  const std::uint16_t half = reinterpret_cast<const std::uint16_t*>(data)[i];
  return type == ncclBfloat16 ? float_of_bf16(half) : float_of_fp16(half);
}
void store(unsigned char* data, ncclDataType_t type, std::size_t i, float value) {
  if (type == ncclFloat32)
    reinterpret_cast<float*>(data)[i] = value;
  else
    reinterpret_cast<std::uint16_t*>(data)[i] =
        type == ncclBfloat16 ? bf16_of(value) : fp16_of(value);
}
/// to[i] = reduction over ranks of their element first + i.
void combine(const std::vector<unsigned char>& all, std::size_t per_rank, std::size_t first,
             std::size_t count, int size, ncclDataType_t type, ncclRedOp_t op, unsigned char* to) {
  for (std::size_t i = 0; i < count; ++i) {
    float value = element(all.data(), type, first + i);
    for (int rank = 1; rank < size; ++rank) {
      const float other =
          element(all.data() + static_cast<std::size_t>(rank) * per_rank, type, first + i);
      value = op == ncclMax ? std::max(value, other) : value + other;
    }
    store(to, type, i, value);
  }
}
ncclResult_t enqueue(cudaStream_t stream, std::function<void()> work) {
  auto* own = new std::function<void()>(std::move(work));
  const auto run = [](void* data) {
    auto* function = static_cast<std::function<void()>*>(data);
    (*function)();
    delete function;
  };
  return stepcast_double_launch(stream, run, own, "ncclDevKernel") == cudaSuccess
             ? ncclSuccess
             : ncclUnhandledCudaError;
}
void failed(ncclComm_t communicator) { communicator->state = ncclRemoteError; }
}  // namespace

#define FAIL_IF_ASKED() \
  if (stepcast_double_must_fail(__func__)) return ncclInternalError
extern "C" {
ncclResult_t ncclGetVersion(int* version) { return *version = 22809, ncclSuccess; }
const char* ncclGetErrorString(ncclResult_t status) {
  return status == ncclRemoteError
             ? "remote process exited or there was a network error"
             : "internal error - please report this issue to the NCCL developers";
}
const char* ncclGetLastError(ncclComm_t) { return "as asked by the test"; }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  FAIL_IF_ASKED();
  static std::atomic<int> serial{0};
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "/stepcast-double-%d-%d", getpid(), serial++);
  const int file = shm_open(id->internal, O_CREAT | O_RDWR | O_EXCL, 0600);
  if (file < 0 || ftruncate(file, sizeof(Hall)) != 0) return ncclSystemError;
  close(file);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  FAIL_IF_ASKED();
  if (size > kMost || config->blocking != 0) return ncclInvalidArgument;
  const int file = shm_open(id.internal, O_RDWR, 0600);
  if (file < 0) return ncclSystemError;
  void* memory = mmap(nullptr, sizeof(Hall), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  auto* own = new ncclComm;
  own->hall = static_cast<Hall*>(memory);
  own->rank = rank;
  own->size = size;
  own->name = id.internal;
  own->state = ncclInProgress;
  *communicator = own;
  own->joining = std::thread([own] {
    own->hall->joined.fetch_add(1);
    while (own->hall->joined.load() < own->size && own->hall->is_aborted.load() == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    own->state = own->hall->is_aborted.load() != 0 ? ncclRemoteError : ncclSuccess;
  });
  return ncclInProgress;
}
static ncclResult_t leave(ncclComm_t communicator) {
  if (communicator->joining.joinable()) communicator->joining.join();
  shm_unlink(communicator->name.c_str());
  munmap(communicator->hall, sizeof(Hall));
  delete communicator;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t communicator) { return leave(communicator); }
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->hall->is_aborted = 1;
  // Its work may still be on a stream, which the abort lets end; the object stays, a small leak in
  // a failing test.
  if (communicator->joining.joinable()) communicator->joining.join();
  shm_unlink(communicator->name.c_str());
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  FAIL_IF_ASKED();
  *state = static_cast<ncclResult_t>(communicator->state.load());
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t c, cudaStream_t stream) {
  FAIL_IF_ASKED();
  return enqueue(stream, [=] {
    const std::size_t bytes = count * width_of(type);
    std::vector<unsigned char> all(bytes * static_cast<std::size_t>(c->size));
    if (!c->gather(from, all.data(), bytes)) return failed(c);
    combine(all, bytes, 0, count, c->size, type, op, static_cast<unsigned char*>(to));
  });
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t c, cudaStream_t stream) {
  FAIL_IF_ASKED();
  return enqueue(stream, [=] {
    const std::size_t bytes = count * width_of(type) * static_cast<std::size_t>(c->size);
    std::vector<unsigned char> all(bytes * static_cast<std::size_t>(c->size));
    if (!c->gather(from, all.data(), bytes)) return failed(c);
    combine(all, bytes, count * static_cast<std::size_t>(c->rank), count, c->size, type, op,
            static_cast<unsigned char*>(to));
  });
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t c, cudaStream_t stream) {
  FAIL_IF_ASKED();
  return enqueue(stream, [=] {
    if (!c->gather(from, to, count * width_of(type))) failed(c);
  });
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t c, cudaStream_t stream) {
  FAIL_IF_ASKED();
  return enqueue(stream, [=] {
    const std::size_t bytes = count * width_of(type);
    std::vector<unsigned char> all(bytes * static_cast<std::size_t>(c->size));
    if (!c->gather(from, all.data(), bytes)) return failed(c);
    std::memcpy(to, all.data() + static_cast<std::size_t>(root) * bytes, bytes);
  });
}
static ncclResult_t run_pending() {
  // One piece of work per communicator and stream, holding all its transfers.
  std::vector<Pending> work;
  work.swap(pending);
  while (!work.empty()) {
    const Pending first = work.front();
    std::vector<Transfer> transfers;
    std::vector<Pending> rest;
    for (const Pending& p : work)
      if (p.communicator == first.communicator && p.stream == first.stream)
        transfers.push_back(p.transfer);
      else
        rest.push_back(p);
    work.swap(rest);
    const ncclResult_t status = enqueue(first.stream, [c = first.communicator, transfers] {
      if (!c->move(transfers)) failed(c);
    });
    if (status != ncclSuccess) return status;
  }
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
                      cudaStream_t stream) {
  FAIL_IF_ASKED();
  auto* data = const_cast<unsigned char*>(static_cast<const unsigned char*>(from));
  pending.push_back({c, stream, {true, data, count * width_of(type), peer}});
  return group_depth > 0 ? ncclSuccess : run_pending();
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
                      cudaStream_t stream) {
  FAIL_IF_ASKED();
  pending.push_back(
      {c, stream, {false, static_cast<unsigned char*>(to), count * width_of(type), peer}});
  return group_depth > 0 ? ncclSuccess : run_pending();
}
ncclResult_t ncclGroupStart() { return ++group_depth, ncclSuccess; }
ncclResult_t ncclGroupEnd() {
  if (--group_depth > 0) return ncclSuccess;
  if (stepcast_double_must_fail(__func__)) return pending.clear(), ncclInternalError;
  return run_pending();
}
}  // extern "C"
