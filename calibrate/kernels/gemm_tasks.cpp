#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibrate/kernels/kernel_tasks.hpp"
#include "sim/profile/kernel_key.hpp"
#include "sim/workload/op_makers.hpp"

namespace stepcast::calibrate {
using runtime::Buffer;
using runtime::GemmCall;
using runtime::View;
namespace {
/// Operands rotate over so much memory, four times the last-level cache of a large server core
/// complex.
constexpr std::int64_t kRotation = std::int64_t{128} << 20;
/// Largest product of the quick suite: 15 ms on a CPU core of 150 GFLOP/s, so that ten runs of it
/// take no longer than any other measurement. The step's own products are measured apart, whatever
/// their size.
constexpr double kQuickFlops = 2.2e9;
}  // namespace

Summary time_gemm(Bench& bench, const GemmShape& s, Pass pass, Precision precision) {
  const std::int64_t e = bytes_per_element(precision);
  const std::int64_t a = s.m * s.k, b = s.k * s.n, c = s.m * s.n;
  const bool accumulates = pass == Pass::backward_weight;
  const auto copies =
      static_cast<int>(std::clamp<std::int64_t>(kRotation / ((a + b + c) * e), 1, 8));
  Buffer as(bench.device, copies * a, precision), bs(bench.device, copies * b, precision),
      cs(bench.device, copies * c, accumulates ? Precision::fp32 : precision);
  return time_on_device(bench, bench.compute, [&](int round) {
    const std::int64_t at = round % copies;
    bench.device.kernels().gemm(bench.compute, {.a = as.view(at * a),
                                                .b = bs.view(at * b),
                                                .c = cs.view(at * c),
                                                .m = s.m,
                                                .n = s.n,
                                                .k = s.k,
                                                .a_transposed = accumulates,
                                                .b_transposed = pass == Pass::forward,
                                                .accumulates = accumulates});
  });
}

std::vector<Task> gemm_tasks(Depth depth, Precision precision) {
  const std::vector<std::int64_t> widths =
      depth == Depth::quick
          ? std::vector<std::int64_t>{128, 512, 1024}
          : std::vector<std::int64_t>{64, 128, 256, 384, 512, 768, 1024, 2048, 4096};
  const std::vector<std::int64_t> tokens =
      depth == Depth::quick ? std::vector<std::int64_t>{128, 512}
                            : std::vector<std::int64_t>{32, 128, 512, 2048, 8192};
  std::vector<Task> tasks;
  std::set<std::string> seen;
  for (const std::int64_t C : widths)
    for (const std::int64_t T : tokens)
      for (const auto& [out, in] :
           {std::pair{3 * C, C}, std::pair{C, C}, std::pair{4 * C, C}, std::pair{C, 4 * C}})
        for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
          GemmShape shape{.m = T, .n = out, .k = in};
          if (pass == Pass::backward_data) shape = {.m = T, .n = in, .k = out};
          if (pass == Pass::backward_weight) shape = {.m = out, .n = in, .k = T};
          Op op{.name = "gemm", .pass = pass, .precision = precision, .shape = shape};
          if (depth == Depth::quick && gemm_flops(shape).value > kQuickFlops) continue;
          const std::string key = kernel_key(op) + "/" + std::string(text_of_direction(pass));
          if (!seen.insert(key).second) continue;
          tasks.push_back({key, [key, shape, pass, precision](Bench& bench) {
                             return std::vector<Entry>{
                                 {"sweep/" + key, time_gemm(bench, shape, pass, precision)}};
                           }});
        }
  return tasks;
}

std::vector<Task> attention_tasks(Depth depth, Precision precision) {
  const std::vector<std::int64_t> lengths =
      depth == Depth::quick ? std::vector<std::int64_t>{32, 128, 512}
                            : std::vector<std::int64_t>{32, 64, 128, 256, 512, 1024, 2048};
  const std::vector<std::int64_t> dims = depth == Depth::quick
                                             ? std::vector<std::int64_t>{32, 64}
                                             : std::vector<std::int64_t>{32, 64, 128};
  const std::vector<std::pair<std::int64_t, std::int64_t>> heads =
      depth == Depth::quick
          ? std::vector<std::pair<std::int64_t, std::int64_t>>{{8, 8}}
          : std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 4}, {8, 8}, {8, 2}, {32, 8}};
  std::vector<Task> tasks;
  for (const std::int64_t T : lengths)
    for (const std::int64_t D : dims)
      for (const auto& [H, K] : heads) {
        const AttentionShape shape{.batch = 1,
                                   .heads = H,
                                   .kv_heads = K,
                                   .query_length = T,
                                   .key_length = T,
                                   .head_dim_qk = D,
                                   .head_dim_v = D};
        Op forward{
            .name = "attention", .pass = Pass::forward, .precision = precision, .shape = shape};
        Op backward = forward;
        std::get<AttentionShape>(backward.shape).is_backward = true;
        const std::string key = kernel_key(forward), back_key = kernel_key(backward);
        tasks.push_back(
            {key, [=](Bench& bench) {
               const std::int64_t row = (H + 2 * K) * D;
               Buffer qkv(bench.device, T * row, precision), y(bench.device, T * H * D, precision),
                   lse(bench.device, T * H, Precision::fp32),
                   dy(bench.device, T * H * D, precision), dq(bench.device, T * H * D, precision),
                   dk(bench.device, T * K * D, precision), dv(bench.device, T * K * D, precision);
               runtime::AttentionCall call{.batch = 1,
                                           .length = T,
                                           .heads = H,
                                           .kv_heads = K,
                                           .head_dim = D,
                                           .causal = true,
                                           .qkv = qkv.view(),
                                           .y = y.view(),
                                           .lse = lse.view(),
                                           .dy = dy.view(),
                                           .dq = dq.view(),
                                           .dk = dk.view(),
                                           .dv = dv.view()};
               Buffer work(bench.device, bench.device.kernels().attention_workspace(call));
               call.workspace = work.view();
               runtime::Kernels& kernels = bench.device.kernels();
               std::vector<Entry> entries;
               entries.push_back({"sweep/" + key, time_on_device(bench, bench.compute, [&](int) {
                                    kernels.attention_forward(bench.compute, call);
                                  })});
               entries.push_back(
                   {"sweep/" + back_key, time_on_device(bench, bench.compute, [&](int) {
                      kernels.attention_backward(bench.compute, call);
                    })});
               return entries;
             }});
      }
  return tasks;
}
}  // namespace stepcast::calibrate
