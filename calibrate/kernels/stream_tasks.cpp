#include <algorithm>

#include "calibrate/kernels/kernel_tasks.hpp"
#include "sim/profile/kernel_key.hpp"

namespace stepcast::calibrate {
using runtime::Buffer;
namespace {
/// One bandwidth-bound kernel over n elements: what it must read and write, and the call, which
/// takes buffers from a rotating pool.
struct StreamCase {
  StreamKind kind;
  Pass pass;
  std::int64_t reads, writes;  // buffers of n elements
  std::function<void(Bench&, const std::vector<runtime::View>&, std::int64_t n)> run;
};

constexpr std::int64_t kWidth = 256;  // of rows in norms, losses, embeddings

std::vector<StreamCase> cases() {
  using runtime::View;
  using Views = std::vector<View>;
  return {
      {StreamKind::elementwise, Pass::forward, 2, 1,
       [](Bench& b, const Views& v, std::int64_t n) {
         b.device.kernels().add(b.compute, v[0], v[1], {}, v[2], 1, n);
       }},
      {StreamKind::copy, Pass::forward, 1, 1,
       [](Bench& b, const Views& v, std::int64_t n) {
         b.device.copy(b.compute, v[1].data, v[0].data, Bytes(n * 4));
       }},
      {StreamKind::norm, Pass::forward, 1, 1,
       [](Bench& b, const Views& v, std::int64_t n) {
         b.device.kernels().norm_forward(b.compute, {.rows = n / kWidth,
                                                     .width = kWidth,
                                                     .x = v[0],
                                                     .weight = v[2],
                                                     .bias = v[2],
                                                     .mean = v[3],
                                                     .rstd = v[4],
                                                     .y = v[1]});
       }},
      {StreamKind::norm, Pass::backward_data, 2, 1,
       [](Bench& b, const Views& v, std::int64_t n) {
         b.device.kernels().norm_backward(b.compute, {.rows = n / kWidth,
                                                      .width = kWidth,
                                                      .x = v[0],
                                                      .weight = v[3],
                                                      .mean = v[4],
                                                      .rstd = v[5],
                                                      .dy = v[1],
                                                      .dx = v[2],
                                                      .dweight = v[6],
                                                      .dbias = v[7]});
       }},
      {StreamKind::loss, Pass::forward, 2, 1,
       [](Bench& b, const Views& v, std::int64_t n) {
         b.device.kernels().loss_forward(b.compute, v[0], v[3], v[4], n / kWidth, kWidth, kWidth);
       }},
      {StreamKind::embedding, Pass::forward, 1, 1,
       [](Bench& b, const Views& v, std::int64_t n) {
         b.device.kernels().embedding_forward(b.compute, v[2], v[0], v[1], n / kWidth, kWidth, 0,
                                              n / kWidth);
       }},
      {StreamKind::reduction, Pass::optimizer, 1, 0,
       [](Bench& b, const Views& v, std::int64_t n) {
         b.device.kernels().square_sum(b.compute, v[0], v[1], n);
       }},
      {StreamKind::optimizer, Pass::optimizer, 4, 3,
       [](Bench& b, const Views& v, std::int64_t n) {
         b.device.kernels().adam(b.compute, {.elements = n,
                                             .master = v[0],
                                             .gradient = v[1],
                                             .first = v[2],
                                             .second = v[3],
                                             .weights = v[0]});
       }},
  };
}
/// From the end of a kernel on one stream to the start of one on a stream that waits for it and has
/// nothing else to do.
Summary hand_over(Bench& bench, runtime::View x) {
  const auto ready = bench.device.new_event();
  runtime::Recorder& recorder = bench.device.recorder();
  Sampler sampler(bench.rule);
  while (!sampler.is_done()) {
    recorder.start();
    {
      const runtime::OpScope scope(recorder, "before");
      bench.device.kernels().scale(bench.compute, x, 1.0f, 1);
    }
    runtime::make_wait(bench.side, bench.compute, *ready);
    {
      const runtime::OpScope scope(recorder, "after");
      bench.device.kernels().scale(bench.side, x, 1.0f, 1);
    }
    bench.side.synchronise();
    recorder.stop();
    Nanoseconds from = 0, to = 0;
    for (const runtime::Activity& activity : recorder.activities())
      (activity.label == 0 ? from : to) = activity.label == 0 ? activity.end : activity.start;
    sampler.add(std::max(1e-9, seconds_from_ns(to - from).value));
  }
  return sampler.summary();
}

}  // namespace

std::vector<Task> stream_tasks(Depth depth) {
  const std::vector<std::int64_t> sizes =
      depth == Depth::quick ? std::vector<std::int64_t>{1 << 14, 1 << 18, 1 << 22}
                            : std::vector<std::int64_t>{1 << 12, 1 << 14, 1 << 16, 1 << 18,
                                                        1 << 20, 1 << 22, 1 << 24};
  const std::int64_t turn_bytes = std::int64_t{depth == Depth::quick ? 128 : 256} << 20;
  std::vector<Task> tasks;
  for (const StreamCase& one : cases())
    for (const std::int64_t n : sizes) {
      Op op{.name = "stream",
            .pass = one.pass,
            .precision = Precision::fp32,
            .shape = StreamShape{one.kind, Bytes(one.reads * n * 4), Bytes(one.writes * n * 4)}};
      const std::string key = "sweep/" + kernel_key(op);
      tasks.push_back(
          {key, [one, n, key, turn_bytes](Bench& bench) {
             // Eight buffers per turn cover every case. Turns rotate so that a large case finds its
             // data in memory, not in cache; quick: one turn of the largest case, whose kernels
             // touch 32 MiB and more.
             const std::int64_t turns = std::clamp<std::int64_t>(turn_bytes / (8 * n * 4), 1, 4);
             std::vector<Buffer> pool;
             for (std::int64_t i = 0; i < 8 * turns; ++i)
               pool.emplace_back(bench.device, n, Precision::fp32);
             return std::vector<Entry>{
                 {key, time_on_device(bench, bench.compute, [&](int round) {
                    std::vector<runtime::View> views;
                    for (std::int64_t i = 0; i < 8; ++i)
                      views.push_back(pool[static_cast<std::size_t>(round % turns * 8 + i)].view());
                    one.run(bench, views, n);
                  })}};
           }});
    }
  return tasks;
}

std::vector<Task> launch_tasks() {
  return {{"launch", [](Bench& bench) {
             Buffer x(bench.device, 16, Precision::fp32);
             std::vector<Entry> entries;
             entries.push_back({"launch/kernel", time_on_device(bench, bench.compute, [&](int) {
                                  bench.device.kernels().scale(bench.compute, x.view(), 1.0f, 1);
                                })});
             // The host's share: many launches behind each other, timed by the host alone.
             Sampler sampler(bench.rule);
             constexpr int kLaunches = 200;
             while (!sampler.is_done()) {
               const Nanoseconds from = runtime::Recorder::now();
               for (int i = 0; i < kLaunches; ++i)
                 bench.device.kernels().scale(bench.compute, x.view(), 1.0f, 1);
               sampler.add(seconds_from_ns(runtime::Recorder::now() - from).value / kLaunches);
               bench.compute.synchronise();
             }
             entries.push_back({"launch/host", sampler.summary()});
             entries.push_back({"launch/hand_over", hand_over(bench, x.view())});
             return entries;
           }}};
}
}  // namespace stepcast::calibrate
