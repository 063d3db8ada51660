#include "calibrate/collectives/collective_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/measure/interference.hpp"
#include "sim/core/robust_stats.hpp"

namespace stepcast::calibrate {
using runtime::Buffer;
using runtime::ElementCount;
using runtime::View;
void run_collective(Bench& b, Collective collective, View x, View y, std::int64_t elements) {
  const int n = b.world.size();
  const ElementCount part{elements / n}, whole{elements};
  switch (collective) {
    case Collective::all_reduce:
      b.world.all_reduce(b.side, x, whole);
      break;
    case Collective::all_gather:
      b.world.all_gather(b.side, x.at(b.world.rank() * part.value), x, part);
      break;
    case Collective::reduce_scatter:
      b.world.reduce_scatter(b.side, x, x.at(b.world.rank() * part.value), part);
      break;
    case Collective::broadcast:
      b.world.broadcast(b.side, x, whole, 0);
      break;
    case Collective::all_to_all:
      b.world.all_to_all(b.side, x, y, part);
      break;
    case Collective::send_recv:
      if (b.world.rank() == 0) b.world.send(b.side, x, whole, 1);
      if (b.world.rank() == 1) b.world.receive(b.side, x, whole, 0);
      break;
  }
}

std::vector<Task> collective_tasks(Depth depth, int ranks) {
  std::vector<Task> tasks;
  if (ranks < 2) return tasks;
  const std::int64_t largest =
      depth == Depth::quick ? (std::int64_t{16} << 20) : (std::int64_t{256} << 20);
  for (const auto& [collective, name] : EnumText<Collective>::table) {
    // Quick: gradients are all-reduced in buckets of any size, so that curve has more points.
    const std::int64_t step = depth == Depth::full                   ? 2
                              : collective == Collective::all_reduce ? 4
                                                                     : 16;
    for (std::int64_t bytes = 1 << 10; bytes <= largest; bytes *= step) {
      // Shared evenly, and never nothing per rank.
      const std::int64_t elements = std::max<std::int64_t>(1, bytes / 4 / ranks) * ranks;
      const std::string key = fmt::format("collective/{}/{}/{}", name, ranks, elements * 4);
      const bool is_pair = collective == Collective::send_recv;
      tasks.push_back(
          {key, [key, collective = collective, elements, is_pair](Bench& bench) {
             const auto copies =
                 std::clamp<std::int64_t>((std::int64_t{64} << 20) / (elements * 4), 1, 4);
             Buffer x(bench.device, copies * elements, Precision::fp32),
                 y(bench.device, elements, Precision::fp32);
             const bool takes_part = !is_pair || bench.world.rank() < 2;
             return std::vector<Entry>{{key, time_on_all_ranks(bench, bench.side, [&](int round) {
                                          if (takes_part)
                                            run_collective(bench, collective,
                                                           x.view(round % copies * elements),
                                                           y.view(), elements);
                                          else
                                            bench.device.fill_zero(bench.side, y.data(), y.bytes());
                                        })}};
           }});
    }
  }
  return tasks;
}

std::vector<Task> overlap_tasks(int ranks) {
  if (ranks < 2) return {};
  return {{"overlap", [](Bench& bench) {
             // A layer's product, and a bucket: both near a millisecond or more on a CPU core, so
             // that each covers several of the other.
             constexpr std::int64_t m = 512, n = 1024, k = 512, elements = std::int64_t{1} << 20;
             Buffer a(bench.device, m * k, Precision::fp32),
                 b(bench.device, k * n, Precision::fp32), c(bench.device, m * n, Precision::fp32),
                 x(bench.device, elements, Precision::fp32);
             constexpr int kReduces = 6, kRepeats = 7, kMost = 400;
             const auto nothing = [] {};
             const auto reduces = [&] {
               for (int i = 0; i < kReduces; ++i)
                 bench.world.all_reduce(bench.side, x.view(), ElementCount{elements});
             };
             int products = 1;
             const auto computes = [&] {
               for (int i = 0; i < products; ++i)
                 bench.device.kernels().gemm(
                     bench.compute,
                     {.a = a.view(), .b = b.view(), .c = c.view(), .m = m, .n = n, .k = k});
             };
             window_of(bench, computes, reduces);
             // As many products as outlast the all-reduces half as long again, on any link.
             const double product_s = window_of(bench, computes, nothing).compute_s,
                          reduces_s = window_of(bench, nothing, reduces).side_s;
             products = std::clamp(static_cast<int>(1.5 * reduces_s / product_s), 6, kMost);
             std::vector<double> alone, bare, compute, side;
             for (int repeat = 0; repeat < kRepeats; ++repeat) {
               alone.push_back(window_of(bench, computes, nothing).compute_s);
               bare.push_back(window_of(bench, nothing, reduces).side_s);
               const Window both = window_of(bench, computes, reduces);
               compute.push_back(both.compute_s);
               side.push_back(both.side_s);
             }
             const Interference factors = interference_of({.compute_alone = median(alone),
                                                           .side_alone = median(bare),
                                                           .compute = median(compute),
                                                           .side = median(side)});
             const char* what = "a factor, not a time";
             return std::vector<Entry>{{"overlap/compute", plain_figure(factors.compute, what)},
                                       {"overlap/comm", plain_figure(factors.side, what)}};
           }}};
}
}  // namespace stepcast::calibrate
