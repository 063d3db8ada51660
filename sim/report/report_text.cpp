#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/io/json.hpp"
#include "sim/report/data_report.hpp"
#include "sim/report/report.hpp"

namespace stepcast {
namespace {
constexpr int kBarWidth = 32;

std::string seconds_text(double s) {
  if (s >= 1) return fmt::format("{:.3f} s", s);
  if (s >= 1e-3) return fmt::format("{:.3f} ms", s * 1e3);
  return fmt::format("{:.2f} us", s * 1e6);
}
std::string count_text(double n) {
  for (const auto& [scale, unit] : {std::pair{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}})
    if (n >= scale) return fmt::format("{:.2f} {}", n / scale, unit);
  return fmt::format("{:.2f} ", n);
}
std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), " ");
  return digits;
}
std::string bytes_text(double bytes) { return count_text(bytes) + "B"; }

using Lines = std::back_insert_iterator<std::string>;

void add_head(Lines out, const Json& r) {
  const Json& s = r["scenario"];
  std::string layout;
  for (const char* axis : {"tp", "pp", "dp", "cp", "ep"})
    if (s[axis].get<int>() > 1) layout += fmt::format("{} {}  ", axis, s[axis].get<int>());
  if (layout.empty()) layout = "one GPU per replica  ";
  const bool is_virtual = s["virtual_stages"].get<int>() > 1;
  fmt::format_to(out, "{}  ({} parameters) on {} nodes, {} GPUs  [{}]\n",
                 s["model"].get<std::string>(), count_text(s["parameters"].get<double>()),
                 s["nodes"].get<int>(), grouped(s["gpus"].get<int>()),
                 s["cluster"].get<std::string>());
  fmt::format_to(out, "{}zero {}  {}{}  strategy {}  {}\n", layout, s["zero_stage"].get<int>(),
                 s["schedule"].get<std::string>(),
                 is_virtual ? fmt::format(" x{}", s["virtual_stages"].get<int>()) : "",
                 s["strategy"].get<std::string>(), s["precision"].get<std::string>());
  fmt::format_to(out, "batch {} = {} micro-batches of {} x {} replicas, sequence {}\n\n",
                 grouped(s["global_batch"].get<std::int64_t>()),
                 s["micro_batches"].get<std::int64_t>(), s["micro_batch"].get<std::int64_t>(),
                 s["dp"].get<int>(), s["sequence_length"].get<std::int64_t>());
}

void add_step(Lines out, const Json& r) {
  const Json& t = r["step_time_s"];
  fmt::format_to(out, "step            {}   (90 % interval {} to {})\n",
                 seconds_text(t["p50"].get<double>()), seconds_text(t["p05"].get<double>()),
                 seconds_text(t["p95"].get<double>()));
  // Throughput is that of the mean step; where the usual step tells something else, both stand
  // here.
  constexpr double kTold = 0.005;
  if (std::abs(t["mean"].get<double>() / t["p50"].get<double>() - 1) > kTold)
    fmt::format_to(out, "mean step       {}   of {} steps; the line above has their median\n",
                   seconds_text(t["mean"].get<double>()), r["simulation"]["steps"].get<int>());
  if (r["tokens_per_s"].is_number())
    fmt::format_to(out, "throughput      {}tokens/s, {}samples/s\n",
                   count_text(r["tokens_per_s"].get<double>()),
                   count_text(r["samples_per_s"].get<double>()));
  else
    fmt::format_to(out, "throughput      {}samples/s\n",
                   count_text(r["samples_per_s"].get<double>()));
  if (r["model_flops_utilization"].is_number()) {
    const double rate = r["model_TFLOP_per_s_per_gpu"].get<double>();  // of a CPU core: below 1
    fmt::format_to(out, "utilization     MFU {:.1f} %   HFU {:.1f} %   {} TFLOP/s per GPU\n",
                   100 * r["model_flops_utilization"].get<double>(),
                   100 * r["hardware_flops_utilization"].get<double>(),
                   rate < 10 ? fmt::format("{:.2g}", rate) : fmt::format("{:.0f}", rate));
  }
  if (const double share = r["host_bound_share"].get<double>(); share > 0.005)
    fmt::format_to(out, "host-bound      {:.1f} % of the step waits for the issuing host thread\n",
                   100 * share);
  if (r["money"].is_object()) {
    const Json& m = r["money"];
    fmt::format_to(out, "money           {:.2f} USD/h, {:.4f} USD per step",
                   m["usd_per_hour"].get<double>(), m["usd_per_step"].get<double>());
    if (m.contains("usd_per_billion_tokens"))
      fmt::format_to(out, ", {:.2f} USD per 1e9 tokens", m["usd_per_billion_tokens"].get<double>());
    fmt::format_to(out, "\n");
  }
}

void add_breakdown(Lines out, const Json& r) {
  const double step = r["breakdown_of_step_s"].get<double>();
  fmt::format_to(out, "\nwhat fills the step (critical rank)\n");
  for (const auto& [category, value] : r["breakdown_s"].items()) {
    const double seconds = value.get<double>();
    if (seconds == 0 || step <= 0) continue;
    const double share = seconds / step;
    const int filled = std::clamp(static_cast<int>(share * kBarWidth + 0.5), 0, kBarWidth);
    fmt::format_to(out, "  {:<15} {:>12}  {:5.1f} %  {}\n", category, seconds_text(seconds),
                   100 * share, std::string(static_cast<std::size_t>(filled), '#'));
  }
}

void add_memory(Lines out, const Json& r) {
  const Json& m = r["memory_GiB"];
  fmt::format_to(out, "\nmemory          {:.1f} of {:.1f} GiB on the fullest stage: {}\n",
                 m["worst"].get<double>(), m["capacity"].get<double>(),
                 m["fits"].get<bool>() ? "fits" : "DOES NOT FIT");
  fmt::format_to(out, "  {:>5} {:>11} {:>10} {:>10} {:>12} {:>8} {:>8}   GiB\n", "stage",
                 "parameters", "gradients", "optimizer", "activations", "buffers", "total");
  const Json& stages = m["per_stage"];
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool is_shown = stages.size() <= 6 || i < 2 || i + 2 >= stages.size();
    if (!is_shown) {
      if (i == 2) fmt::format_to(out, "    ...\n");
      continue;
    }
    const Json& s = stages[i];
    fmt::format_to(out, "  {:>5} {:>11.2f} {:>10.2f} {:>10.2f} {:>12.2f} {:>8.2f} {:>8.2f}\n",
                   s["stage"].get<int>(), s["parameters"].get<double>(),
                   s["gradients"].get<double>(), s["optimizer"].get<double>(),
                   s["activations"].get<double>(), s["buffers"].get<double>(),
                   s["total"].get<double>());
  }
}

void add_network(Lines out, const Json& r) {
  const Json& n = r["network"];
  if (n["bytes_by_group"].empty() && n["busiest_links"].empty()) return;
  fmt::format_to(out, "\nnetwork between nodes");
  for (const auto& [group, bytes] : n["bytes_by_group"].items())
    fmt::format_to(out, "   {} {}", group, bytes_text(bytes.get<double>()));
  fmt::format_to(out, "\n");
  for (std::size_t i = 0; i < std::min<std::size_t>(3, n["busiest_links"].size()); ++i) {
    const Json& link = n["busiest_links"][i];
    fmt::format_to(out, "  {:<24} {:5.1f} % of {:.1f} GB/s over the step\n",
                   link["name"].get<std::string>(), 100 * link["utilisation"].get<double>(),
                   link["capacity_GBps"].get<double>());
  }
}

void add_many_steps(Lines out, const Json& r) {
  if (const Json& d = r["step_distribution_s"]; d.is_object())
    fmt::format_to(out, "\nsteps           {} simulated: mean {}, p50 {}, p95 {}, p99 {}, max {}\n",
                   d["steps"].get<std::size_t>(), seconds_text(d["mean"].get<double>()),
                   seconds_text(d["p50"].get<double>()), seconds_text(d["p95"].get<double>()),
                   seconds_text(d["p99"].get<double>()), seconds_text(d["max"].get<double>()));
  if (const Json& s = r["stragglers"]; s.is_object()) {
    fmt::format_to(out,
                   "stragglers      {:.3f} x the step without them ({}); stepcast stragglers tells "
                   "whose fault it is\n",
                   s["slowdown"].get<double>(),
                   seconds_text(s["straggler_free_step_s"].get<double>()));
    for (const Json& e : s["evictions"])
      fmt::format_to(out, "evicted         node {} after step {}: {:.2f} x its peers{}\n",
                     e["node"].get<int>(), e["after_step"].get<int>(), e["slowness"].get<double>(),
                     e["by_spare"].get<bool>() ? ", a spare took over" : ", nobody took over");
  }
  const Json& y = r["synchronisation"];
  if (!y.is_object()) return;
  fmt::format_to(out, "\nsynchronisation {}: {} workers, {:.4g} updates/s, {} dropped\n",
                 y["mode"].get<std::string>(), y["workers"].get<std::size_t>(),
                 y["updates_per_s"].get<double>(), y["dropped"].get<std::int64_t>());
  fmt::format_to(out, "staleness       mean {:.2f}, most {}\n",
                 y["staleness"]["mean"].get<double>(), y["staleness"]["max"].get<std::int64_t>());
  double busy = 0, in = 0, most = 0;
  for (const Json& u : y["servers"]) {
    busy += u["utilisation"].get<double>() / static_cast<double>(y["servers"].size());
    in += u["nic_in"].get<double>() / static_cast<double>(y["servers"].size());
    most = std::max(most, u["nic_in"].get<double>());
  }
  if (!y["servers"].empty())
    fmt::format_to(out,
                   "servers         {}: CPU busy {:.0f} %, port in {:.0f} % (fullest {:.0f} %)\n",
                   y["servers"].size(), 100 * busy, 100 * in, 100 * most);
}

void add_caveats(Lines out, const Json& r) {
  for (const Json& e : r["extrapolated"])
    fmt::format_to(out, "extrapolated    {} ({:.1f} % of the step; nearest measured {})\n",
                   e["what"].get<std::string>(), 100 * e["share_of_step"].get<double>(),
                   e["nearest_measured"].get<std::string>());
  for (const Json& w : r["warnings"])
    fmt::format_to(out, "warning         {}\n", w.get<std::string>());
  for (const Json& note : r["notes"])
    fmt::format_to(out, "default         {}\n", note.get<std::string>());
}
}  // namespace

std::string report_text(const Json& r) {
  std::string text;
  const Lines out(text);
  add_head(out, r);
  add_step(out, r);
  add_breakdown(out, r);
  add_many_steps(out, r);
  if (r.contains("data")) fmt::format_to(out, "{}", data_text(r["data"]));
  add_memory(out, r);
  add_network(out, r);
  fmt::format_to(out, "\n");
  add_caveats(out, r);
  const Json& s = r["simulation"];
  fmt::format_to(
      out, "simulated       {} workers{}, {} events in {:.2f} s and {:.0f} MiB by {}; profile {}\n",
      grouped(s["simulated_workers"].get<std::int64_t>()),
      s["folded"].get<bool>() ? " (equal replicas folded)" : "",
      grouped(s["events"].get<std::int64_t>()), s["wall_s"].get<double>(),
      s["peak_rss_MiB"].get<double>(), r["provenance"]["engine"].get<std::string>(),
      r["provenance"]["profile"].get<std::string>());
  return text;
}
}  // namespace stepcast
