#include "runtime/cuda/nccl_communicator.hpp"

#include <nccl.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/library.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
using Clock = std::chrono::steady_clock;

struct Api {
  Library library{"libnccl.so.2", "NCCL 2.18 or newer"};
  decltype(::ncclGetVersion)* version;
  decltype(::ncclGetUniqueId)* unique_id;
  decltype(::ncclCommInitRankConfig)* init;
  decltype(::ncclCommFinalize)* finalize;
  decltype(::ncclCommDestroy)* destroy;
  decltype(::ncclCommAbort)* abort;
  decltype(::ncclCommGetAsyncError)* async_error;
  decltype(::ncclGetErrorString)* error_text;
  decltype(::ncclGetLastError)* last_error;
  decltype(::ncclAllReduce)* all_reduce;
  decltype(::ncclAllGather)* all_gather;
  decltype(::ncclReduceScatter)* reduce_scatter;
  decltype(::ncclBroadcast)* broadcast;
  decltype(::ncclSend)* send;
  decltype(::ncclRecv)* receive;
  decltype(::ncclGroupStart)* group_start;
  decltype(::ncclGroupEnd)* group_end;
  Api() {
    library.find(version, "ncclGetVersion");
    library.find(unique_id, "ncclGetUniqueId");
    library.find(init, "ncclCommInitRankConfig");
    library.find(finalize, "ncclCommFinalize");
    library.find(destroy, "ncclCommDestroy");
    library.find(abort, "ncclCommAbort");
    library.find(async_error, "ncclCommGetAsyncError");
    library.find(error_text, "ncclGetErrorString");
    library.find(last_error, "ncclGetLastError");
    library.find(all_reduce, "ncclAllReduce");
    library.find(all_gather, "ncclAllGather");
    library.find(reduce_scatter, "ncclReduceScatter");
    library.find(broadcast, "ncclBroadcast");
    library.find(send, "ncclSend");
    library.find(receive, "ncclRecv");
    library.find(group_start, "ncclGroupStart");
    library.find(group_end, "ncclGroupEnd");
  }
};
Api& api() {
  static Api instance;
  return instance;
}

ncclDataType_t type_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return ncclFloat32;
    case Precision::fp16:
      return ncclFloat16;
    case Precision::bf16:
      return ncclBfloat16;
    case Precision::fp8:
    case Precision::int8:
      break;
  }
  return ncclUint8;  // moved, never summed
}
std::string hex_of(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal) {
    text += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}
ncclUniqueId id_of(const std::string& text, const std::string& group) {
  ncclUniqueId id{};
  if (text.size() != 2 * sizeof id.internal)
    throw EnvironmentError(
        "group " + group +
        ": the store's NCCL id is not one; is another run using the same store?");
  for (std::size_t i = 0; i < sizeof id.internal; ++i)
    id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

/// Non-blocking NCCL: every call may answer "in progress", and the host decides how long it waits.
class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(CudaDevice& device, Store& store, const GroupRequest& request)
      : device_(device), request_(request) {
    device_.use();
    const std::string key = "nccl/" + request.name;
    ncclUniqueId id{};
    if (request.rank == 0) {
      accept(api().unique_id(&id), "ncclGetUniqueId");
      store.set(key, hex_of(id));
    } else {
      id = id_of(store.get(key), request.name);
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    try {
      accept(api().init(&communicator_, request.size, id, request.rank, &config),
             "ncclCommInitRankConfig");
      finish("ncclCommInitRankConfig");
      // The barrier's own stream and word, so that it waits for nothing else.
      stream_ = device_.new_stream("barrier " + request.name, StreamPriority::normal);
      word_ = Buffer(device_, Bytes(4));
      device_.fill_zero(*stream_, word_.data(), Bytes(4));
    } catch (...) {
      give_up();
      throw;
    }
    device_.add_watch(this, [this](Nanoseconds waited) { look(waited); });
  }
  ~NcclCommunicator() override {
    device_.remove_watch(this);
    word_ = Buffer();
    stream_.reset();
    if (communicator_ == nullptr) return;
    // Finalize waits for outstanding work; after a failure it would wait for ever.
    const ncclResult_t status = api().finalize(communicator_);
    if (is_taken(status) && settles())
      api().destroy(communicator_);
    else
      api().abort(communicator_);
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return request_.rank; }
  int size() const override { return request_.size; }

  void all_reduce(Stream& stream, View data, ElementCount count, Reduction reduction) override {
    begin(stream);
    accept(api().all_reduce(data.data, data.data, size_of(count), summable(data.precision),
                            reduction == Reduction::sum ? ncclSum : ncclMax, communicator_,
                            handle(stream)),
           "ncclAllReduce");
    finish("ncclAllReduce");
  }
  void all_gather(Stream& stream, View input, View output, ElementCount count) override {
    begin(stream);
    accept(api().all_gather(input.data, output.data, size_of(count), type_of(input.precision),
                            communicator_, handle(stream)),
           "ncclAllGather");
    finish("ncclAllGather");
  }
  void reduce_scatter(Stream& stream, View input, View output, ElementCount count) override {
    begin(stream);
    accept(api().reduce_scatter(input.data, output.data, size_of(count), summable(input.precision),
                                ncclSum, communicator_, handle(stream)),
           "ncclReduceScatter");
    finish("ncclReduceScatter");
  }
  void broadcast(Stream& stream, View data, ElementCount count, int root) override {
    begin(stream);
    accept(api().broadcast(data.data, data.data, size_of(count), type_of(data.precision), root,
                           communicator_, handle(stream)),
           "ncclBroadcast");
    finish("ncclBroadcast");
  }
  /// As grouped sends and receives: native all-to-all is not in every NCCL 2.
  void all_to_all(Stream& stream, View input, View output, ElementCount count) override {
    begin(stream);
    accept(api().group_start(), "ncclGroupStart");
    // A group that was started is always ended, or this thread's next calls would be taken for its
    // members.
    ncclResult_t status = ncclSuccess;
    const char* call = "ncclSend";
    for (int peer = 0; peer < request_.size && is_taken(status); ++peer) {
      call = "ncclSend";
      status = api().send(input.at(peer * count.value).data, size_of(count),
                          type_of(input.precision), peer, communicator_, handle(stream));
      if (!is_taken(status)) break;
      call = "ncclRecv";
      status = api().receive(output.at(peer * count.value).data, size_of(count),
                             type_of(output.precision), peer, communicator_, handle(stream));
    }
    const ncclResult_t end = api().group_end();
    accept(status, call);
    accept(end, "ncclGroupEnd");
    finish("ncclGroupEnd");
  }
  void send(Stream& stream, View data, ElementCount count, int to) override {
    begin(stream);
    accept(api().send(data.data, size_of(count), type_of(data.precision), to, communicator_,
                      handle(stream)),
           "ncclSend");
    finish("ncclSend");
  }
  void receive(Stream& stream, View data, ElementCount count, int from) override {
    begin(stream);
    accept(api().receive(data.data, size_of(count), type_of(data.precision), from, communicator_,
                         handle(stream)),
           "ncclRecv");
    finish("ncclRecv");
  }
  void barrier() override {
    all_reduce(*stream_, word_.view(), {1}, Reduction::sum);
    stream_->synchronise();
  }

 private:
  static std::size_t size_of(ElementCount count) { return static_cast<std::size_t>(count.value); }
  static ncclDataType_t summable(Precision precision) {
    STEPCAST_ASSERT(precision != Precision::fp8 && precision != Precision::int8,
                    "compressors gather bytes, they never sum them");
    return type_of(precision);
  }
  [[noreturn]] void fail(const std::string& what) {
    give_up();
    throw EnvironmentError("rank " + std::to_string(request_.rank) + " of group " + request_.name +
                           ": " + what);
  }
  static bool is_taken(ncclResult_t status) {
    return status == ncclSuccess || status == ncclInProgress;
  }
  void accept(ncclResult_t status, const char* call) {
    if (is_taken(status)) return;
    const char* detail = api().last_error(communicator_);
    fail(std::string(call) + " failed with " + api().error_text(status) +
         (detail != nullptr && *detail != '\0' ? std::string(" (") + detail + ")" : ""));
  }
  bool settles() {
    const auto deadline = Clock::now() + std::chrono::duration<double>(request_.time_limit.value);
    ncclResult_t state = ncclInProgress;
    while (api().async_error(communicator_, &state) == ncclSuccess && state == ncclInProgress) {
      if (Clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return state == ncclSuccess;
  }
  /// Until NCCL took the call (its execution is the stream's business), or the limit.
  void finish(const char* call) {
    const auto deadline = Clock::now() + std::chrono::duration<double>(request_.time_limit.value);
    ncclResult_t state = ncclInProgress;
    while (true) {
      accept(api().async_error(communicator_, &state), "ncclCommGetAsyncError");
      if (state != ncclInProgress) break;
      if (Clock::now() > deadline)
        fail(std::string(call) + ": not all of the " + std::to_string(request_.size) +
             " ranks answered within " + std::to_string(request_.time_limit.value) + " s");
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    accept(state, call);
  }
  void begin(Stream& stream) {
    if (communicator_ == nullptr)
      throw EnvironmentError("group " + request_.name +
                             " failed before; nothing can be sent any more");
    STEPCAST_ASSERT(&stream.device() == static_cast<Device*>(&device_),
                    "a communicator serves streams of its own device");
    device_.use();
  }
  /// Called while the host waits for a stream or an event of this device: errors of the network
  /// surface here, and one wait longer than the limit counts as a dead peer.
  void look(Nanoseconds waited) {
    if (communicator_ == nullptr) return;
    ncclResult_t state = ncclSuccess;
    accept(api().async_error(communicator_, &state), "ncclCommGetAsyncError");
    accept(state, "a collective");
    if (static_cast<double>(waited) * 1e-9 > request_.time_limit.value)
      fail("waited for " + std::to_string(request_.time_limit.value) +
           " s on work with a collective; a rank of the group has died or hangs");
  }
  void give_up() noexcept {
    if (communicator_ != nullptr) api().abort(communicator_);
    communicator_ = nullptr;
  }

  CudaDevice& device_;
  GroupRequest request_;
  ncclComm_t communicator_ = nullptr;
  std::unique_ptr<Stream> stream_;
  Buffer word_;
};
}  // namespace

std::unique_ptr<Communicator> new_nccl_communicator(CudaDevice& device, Store& store,
                                                    const GroupRequest& request) {
  return std::make_unique<NcclCommunicator>(device, store, request);
}
bool nccl_is_present() {
  static Library library{"libnccl.so.2", "NCCL"};
  return library.is_present();
}
int nccl_version() {
  int number = 0;
  api().version(&number);
  return number;
}
}  // namespace stepcast::runtime
