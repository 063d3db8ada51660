#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include <cstring>
#include <thread>

#include "runtime/compress/number_formats.hpp"
#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/cpu_communicator.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"
#include "runtime/cpu/thread_level.hpp"
#include "sim/core/assert.hpp"

/// Collectives over TCP by Gloo. All of them run on the stream's thread. fp32; all-reduce also sums
/// fp16 and bf16, each sum rounded as a GPU's would be.
namespace stepcast::runtime {
namespace {
using Milliseconds = std::chrono::milliseconds;
using GlooBuffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

/// Gloo's rendezvous over our store, under the group's name.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(runtime::Store& store, std::string group)
      : store_(store), prefix_("gloo/" + std::move(group) + "/") {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set(prefix_ + key, {data.begin(), data.end()});
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = store_.get(prefix_ + key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) store_.get(prefix_ + key);
  }
  void wait(const std::vector<std::string>& keys,
            const Milliseconds& /*ours is the store's own limit*/) override {
    wait(keys);
  }

 private:
  runtime::Store& store_;
  std::string prefix_;
};

STEPCAST_CLONES
void add_into(float* c, const float* a, const float* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}
STEPCAST_CLONES
void max_into(float* c, const float* a, const float* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) c[i] = std::max(a[i], b[i]);
}
/// c = narrow(wide(a) + wide(b)); gradients cast by a compressor.
template <auto kWide, auto kNarrow>
void add_narrow(void* c, const void* a, const void* b, std::size_t n) {
  auto* sum = static_cast<std::uint16_t*>(c);
  const auto *left = static_cast<const std::uint16_t*>(a),
             *right = static_cast<const std::uint16_t*>(b);
  for (std::size_t i = 0; i < n; ++i) sum[i] = kNarrow(kWide(left[i]) + kWide(right[i]));
}
void add_void(void* c, const void* a, const void* b, std::size_t n) {
  add_into(static_cast<float*>(c), static_cast<const float*>(a), static_cast<const float*>(b), n);
}
void max_void(void* c, const void* a, const void* b, std::size_t n) {
  max_into(static_cast<float*>(c), static_cast<const float*>(a), static_cast<const float*>(b), n);
}

class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(runtime::Store& store, const GroupRequest& request) : request_(request) {
    gloo::transport::tcp::attr attributes;
    if (request.interface.empty())
      attributes.hostname = store.local_address();
    else if (request.interface.find('.') != std::string::npos)
      attributes.hostname = request.interface;
    else
      attributes.iface = request.interface;
    std::exception_ptr failure;
    // Gloo's I/O thread is made here and inherits this thread's priority.
    std::thread([&] {
      try {
        set_thread_level(ThreadLevel::network_io);
        auto device = gloo::transport::tcp::CreateDevice(attributes);
        set_thread_level(ThreadLevel::network_caller);
        auto context = std::make_shared<gloo::rendezvous::Context>(request.rank, request.size);
        context->setTimeout(limit());
        GlooStore gloo_store(store, request.name);
        context->connectFullMesh(gloo_store, device);
        context_ = std::move(context);
      } catch (...) {
        failure = std::current_exception();
      }
    }).join();
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      throw EnvironmentError(
          fmt::format("rank {}: the group \"{}\" of {} ranks did not come together: {}",
                      request.rank, request.name, request.size, error.what()));
    }
  }

  int rank() const override { return request_.rank; }
  int size() const override { return request_.size; }

  void all_reduce(Stream& stream, View data, ElementCount count, Reduction reduction) override {
    const bool is_wide = data.precision == Precision::fp32;
    STEPCAST_ASSERT(is_wide || reduction == Reduction::sum,
                    "16-bit messages come from compressors, which are summed");
    enqueue(stream, "all_reduce", [=, this] {
      gloo::AllreduceOptions options(context_);
      if (is_wide) {
        options.setOutput(f32(data), elements(count));
        options.setReduceFunction(reduction == Reduction::sum ? add_void : max_void);
      } else {
        options.setOutput(static_cast<std::uint16_t*>(data.data), elements(count));
        options.setReduceFunction(data.precision == Precision::fp16
                                      ? add_narrow<float_of_fp16, fp16_of>
                                      : add_narrow<float_of_bf16, bf16_of>);
      }
      options.setTag(next_tag());
      gloo::allreduce(options);
    });
  }
  void all_gather(Stream& stream, View input, View output, ElementCount count) override {
    enqueue(stream, "all_gather", [=, this] {
      gloo::AllgatherOptions options(context_);
      if (f32(input) != f32(output) + rank() * count.value)
        options.setInput(f32(input), elements(count));
      options.setOutput(f32(output), elements(count) * static_cast<std::size_t>(size()));
      options.setTag(next_tag());
      gloo::allgather(options);
    });
  }
  /// Ring: in round s rank r passes part r - 1 - s on to r + 1 and adds the part it gets; after n -
  /// 1 rounds part r is complete. Gloo's own class binds one buffer for its life, so it cannot
  /// serve buckets; these are its sends and receives.
  void reduce_scatter(Stream& stream, View input, View output, ElementCount count) override {
    enqueue(stream, "reduce_scatter", [=, this] {
      const int n = size(), right = (rank() + 1) % n, left = (rank() + n - 1) % n;
      const auto bytes = static_cast<std::size_t>(count.value) * sizeof(float);
      std::vector<float> received(elements(count));
      const GlooBuffer from = context_->createUnboundBuffer(received.data(), bytes);
      for (int round = 0; round + 1 < n; ++round) {
        float* outgoing = f32(input) + (rank() - 1 - round + 2 * n) % n * count.value;
        float* incoming = f32(input) + (rank() - 2 - round + 2 * n) % n * count.value;
        const GlooBuffer to = context_->createUnboundBuffer(outgoing, bytes);
        const std::uint64_t slot = next_slot();
        from->recv(left, slot);
        to->send(right, slot);
        finish(*from, true);
        add_into(incoming, incoming, received.data(), elements(count));
        finish(*to, false);
      }
      const float* mine = f32(input) + rank() * count.value;
      if (f32(output) != mine) std::memcpy(f32(output), mine, bytes);
    });
  }
  void broadcast(Stream& stream, View data, ElementCount count, int root) override {
    enqueue(stream, "broadcast", [=, this] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(f32(data), elements(count));
      options.setRoot(root);
      options.setTag(next_tag());
      gloo::broadcast(options);
    });
  }
  void all_to_all(Stream& stream, View input, View output, ElementCount count) override {
    enqueue(stream, "all_to_all", [=, this] {
      gloo::AlltoallOptions options(context_);
      options.setInput(f32(input), elements(count) * static_cast<std::size_t>(size()));
      options.setOutput(f32(output), elements(count) * static_cast<std::size_t>(size()));
      options.setTag(next_tag());
      gloo::alltoall(options);
    });
  }
  void send(Stream& stream, View data, ElementCount count, int to) override {
    enqueue(stream, "send", [=, this] {
      const GlooBuffer buffer =
          context_->createUnboundBuffer(data.data, elements(count) * sizeof(float));
      buffer->send(to, pair_slot(rank(), to));
      finish(*buffer, false);
    });
  }
  void receive(Stream& stream, View data, ElementCount count, int from) override {
    enqueue(stream, "receive", [=, this] {
      const GlooBuffer buffer =
          context_->createUnboundBuffer(data.data, elements(count) * sizeof(float));
      buffer->recv(from, pair_slot(from, rank()));
      finish(*buffer, true);
    });
  }
  void barrier() override {
    guarded("barrier", [this] {
      gloo::BarrierOptions options(context_);
      options.setTag(next_tag());
      gloo::barrier(options);
    });
  }

 private:
  static std::size_t elements(ElementCount count) { return static_cast<std::size_t>(count.value); }
  Milliseconds limit() const {
    return Milliseconds(static_cast<std::int64_t>(request_.time_limit.value * 1e3));
  }
  /// Calls run in the same order on every member, so equal counters meet.
  std::uint32_t next_tag() { return tag_++ & 0xffffff; }
  /// Slots of our own messages lie above the 2^56 ones that Gloo builds from prefix, tag and
  /// counter.
  std::uint64_t next_slot() { return (std::uint64_t{0xF0} << 56) | ring_slot_++; }
  std::uint64_t pair_slot(int from, int to) const {
    return (std::uint64_t{0xF1} << 56) | (static_cast<std::uint64_t>(from) << 24) |
           static_cast<std::uint64_t>(to);
  }
  void finish(gloo::transport::UnboundBuffer& buffer, bool receives) const {
    const bool is_done =
        receives ? buffer.waitRecv(nullptr, limit()) : buffer.waitSend(nullptr, limit());
    if (!is_done) throw EnvironmentError("the wait was aborted");
  }
  template <class Work>
  void guarded(const char* what, Work work) {
    try {
      const NetworkCall
          call;  // a collective on the compute stream, or a barrier of the main thread
      work();
    } catch (const std::exception& error) {
      throw EnvironmentError(fmt::format("rank {}: {} in group \"{}\" failed: {}", request_.rank,
                                         what, request_.name, error.what()));
    }
  }
  template <class Work>
  void enqueue(Stream& stream, const char* what, Work work) {
    cpu(stream).enqueue([this, what, work] { guarded(what, work); });
  }

  GroupRequest request_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::uint32_t tag_ = 0;
  std::uint64_t ring_slot_ = 0;
};
}  // namespace

std::unique_ptr<Communicator> new_network_communicator(runtime::Store& store,
                                                       const GroupRequest& request) {
  return std::make_unique<GlooCommunicator>(store, request);
}
std::string network_library() { return "Gloo over TCP"; }
}  // namespace stepcast::runtime
