#include "calibrate/profile/sweep_entries.hpp"

#include <cstdio>

namespace stepcast::calibrate {
std::vector<GemmEntry> gemms(const std::vector<Entry>& entries) {
  std::vector<GemmEntry> found;
  for (const Entry& entry : entries) {
    long m = 0, n = 0, k = 0, b = 0;
    char precision[16] = "", direction[32] = "";
    if (std::sscanf(entry.key.c_str(), "sweep/gemm/%15[^/]/m%ld/n%ld/k%ld/b%ld/%31s", precision, &m,
                    &n, &k, &b, direction) != 6)
      continue;
    const auto p = enum_from_text<Precision>(precision);
    if (!p) continue;
    found.push_back({*p, {.m = m, .n = n, .k = k, .batch = b}, direction, entry.summary.median_s});
  }
  return found;
}
std::vector<AttentionEntry> attentions(const std::vector<Entry>& entries) {
  std::vector<AttentionEntry> found;
  for (const Entry& entry : entries) {
    char kind[16] = "", precision[16] = "", mask[16] = "";
    AttentionShape s;
    long b = 0, h = 0, kv = 0, q = 0, k = 0, d = 0, v = 0;
    if (std::sscanf(entry.key.c_str(),
                    "sweep/attention_%15[^/]/%15[^/]/b%ld/h%ld/kv%ld/q%ld/k%ld/d%ld/v%ld/%15s",
                    kind, precision, &b, &h, &kv, &q, &k, &d, &v, mask) != 10)
      continue;
    const auto p = enum_from_text<Precision>(precision);
    if (!p) continue;
    s = {.batch = b,
         .heads = h,
         .kv_heads = kv,
         .query_length = q,
         .key_length = k,
         .head_dim_qk = d,
         .head_dim_v = v,
         .causal = std::string(mask) == "causal",
         .is_backward = std::string(kind) == "backward"};
    found.push_back({*p, s, entry.summary.median_s});
  }
  return found;
}
std::vector<StreamEntry> streams(const std::vector<Entry>& entries) {
  std::vector<StreamEntry> found;
  for (const Entry& entry : entries) {
    char kind[32] = "", precision[16] = "", direction[32] = "";
    double read = 0, written = 0;
    if (std::sscanf(entry.key.c_str(), "sweep/%31[^/]/%15[^/]/r%lf/w%lf/%31s", kind, precision,
                    &read, &written, direction) != 5)
      continue;
    found.push_back({kind, direction, read + written, entry.summary.median_s});
  }
  return found;
}
}  // namespace stepcast::calibrate
