#include "sim/import/nccl_tests/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/import/nccl_tests/log_lines.hpp"

namespace stepcast::nccl_tests {
namespace {

/// Walks the lines and keeps the sweep under construction.
class LogReader {
 public:
  LogReader(const std::string& file, Log& log)
      : file_(file), log_(log), named_(test_named_in(file.substr(file.rfind('/') + 1))) {}

  void line(std::string_view raw, std::size_t number, bool is_last_without_newline) {
    const std::string text = without_prefix(raw);
    number_ = number;
    if (debug_line(text)) return;
    if (text.find("nThread") != std::string::npos && text.find("nGpus") != std::string::npos)
      return begin_sweep();
    if (text.find("Collective test starting") != std::string::npos) {
      begin_sweep();
      named_ = test_named_in(text);
      return;
    }
    if (const auto rank = rank_line_of(text)) return add_rank(*rank);
    if (text.find("nccl-tests version") != std::string::npos ||
        text.find("rccl-tests") != std::string::npos) {
      finish_sweep();
      sweep_.version = text.substr(text.find_first_not_of("# "));
      return;
    }
    if (text.find("Avg bus bandwidth") != std::string::npos) {
      sweep_.is_complete = true;
      return;
    }
    if (text.find("_perf") != std::string::npos && !text.starts_with(' ')) {
      if (const Test test = test_named_in(text); test != Test::unknown && sweep_.rows.empty())
        named_ = test;
    }
    if (fault_line(text)) return;
    bool is_cut = false;
    if (const auto row = row_of(text, is_cut)) {
      if (is_last_without_newline && !sweep_.rows.empty() &&
          width(*row) != width(sweep_.rows.back()))
        return lose("row_cut_off",
                    "the log ends inside a row; run the test again or fetch the whole log");
      return add_row(*row);
    }
    if (is_cut)
      lose("row_unreadable",
           "a row has columns missing or glued together; the launcher mixed two outputs");
  }

  void finish() {
    if (!sweep_.rows.empty() && !sweep_.is_complete)
      note("tail_missing", Severity::warning,
           "the closing summary is missing: the run died or the log was cut");
    finish_sweep();
  }

 private:
  std::string place() const { return fmt::format("{}:{}", file_, number_); }
  void note(const char* name, Severity severity, const char* advice) {
    log_.anomalies.add(name, severity, advice, place());
  }
  void lose(const char* name, const char* advice) {
    ++log_.rows_lost;
    note(name, Severity::error, advice);
  }
  static int width(const Row& row) { return (row.out_of_place ? 1 : 0) + (row.in_place ? 1 : 0); }

  bool debug_line(const std::string& text) {
    if (text.find(" NCCL INFO ") == std::string::npos &&
        text.find(" NCCL WARN ") == std::string::npos)
      return false;
    const auto uses = [&](const char* needle, const char* transport) {
      if (text.find(needle) != std::string::npos) transports_.insert(transport);
    };
    uses("NET/Socket", "socket"), uses("NET/IB", "ib"), uses("NET/OFI", "ofi"),
        uses("Libfabric", "ofi");
    if (text.find("NCCL WARN") != std::string::npos)
      note("nccl_warning", Severity::warning,
           "NCCL printed warnings during the run; read them before trusting the figures");
    if (const auto at = text.find("nranks "); at != std::string::npos)
      if (const auto words = words_of(std::string_view(text).substr(at + 7)); !words.empty())
        if (const auto n = integer_of(words[0]); n && *n > 1 && *n < 10'000'000)
          stated_ranks_ = static_cast<int>(*n);
    return true;
  }
  bool fault_line(const std::string& text) {
    for (const char* sign : {"Test NCCL failure", "Test CUDA failure", "Test HIP failure",
                             "unhandled system error", "unhandled cuda error", "Segmentation fault",
                             "srun: error", "MPI_ABORT", "Bus error", "DUE TO TIME LIMIT"})
      if (text.find(sign) != std::string::npos) {
        note("run_failed", Severity::error,
             "the run reported a failure; sizes after it are missing");
        return true;
      }
    return false;
  }

  void begin_sweep() {
    if (sweep_.rows.empty() && sweep_.line != 0 && ranks_.empty())
      return;  // "starting" and "nThread" both open it
    finish_sweep();
    sweep_.line = number_;
  }
  void add_rank(const RankLine& rank) {
    if (!sweep_.rows.empty()) begin_sweep();
    ranks_[rank.rank] = rank.host;
    if (sweep_.device.empty())
      sweep_.device = rank.device;
    else if (sweep_.device != rank.device)
      note("mixed_devices", Severity::warning,
           "the ranks sit on different GPU models; the slowest sets the pace");
  }
  void add_row(Row row) {
    row.line = number_;
    if (!sweep_.rows.empty() &&
        row.size <= sweep_.rows.back().size) {  // cycles (-N) or a second run without a header
      Sweep next = sweep_;
      next.rows.clear();
      const auto ranks = ranks_;
      finish_sweep();
      sweep_ = next;
      sweep_.line = number_;
      ranks_ = ranks;
    }
    if (sweep_.line == 0) sweep_.line = number_;
    ++log_.rows_read;
    if (row.best().time_us <= 0 || row.size == 0) {  // sizes below one element a rank print zeros
      log_.anomalies.add("empty_size", Severity::info,
                         "sizes too small for one element a rank take no time and are left out",
                         place());
      return;
    }
    if ((row.out_of_place && row.out_of_place->wrong > 0) ||
        (row.in_place && row.in_place->wrong > 0))
      note("wrong_results", Severity::error,
           "the test found wrong values: the machine corrupts data, do not calibrate from it");
    sweep_.rows.push_back(std::move(row));
  }

  void finish_sweep();
  void settle_test(Sweep& sweep);
  void settle_world(Sweep& sweep);

  const std::string& file_;
  Log& log_;
  Test named_;
  std::size_t number_ = 0;
  Sweep sweep_;
  std::map<int, std::string> ranks_;  // rank -> host
  std::set<std::string> transports_;
  int stated_ranks_ = 0;
};

void LogReader::finish_sweep() {
  Sweep sweep = std::move(sweep_);
  sweep_ = Sweep{};
  sweep_.version = sweep.version;
  sweep.file = file_;
  sweep.transports.assign(transports_.begin(), transports_.end());
  if (!sweep.rows.empty()) {
    settle_world(sweep);
    settle_test(sweep);
    log_.sweeps.push_back(std::move(sweep));
  }
  ranks_.clear();
}

void LogReader::settle_world(Sweep& sweep) {
  std::map<std::string, int> on_host;
  for (const auto& [rank, host] : ranks_) ++on_host[host];
  for (const auto& [host, count] : on_host) {
    sweep.hosts.push_back(host);
    sweep.ranks_per_node = std::max(sweep.ranks_per_node, count);
  }
  sweep.ranks = static_cast<int>(ranks_.size());
  sweep.nodes = static_cast<int>(on_host.size());
  const auto missing = ranks_.empty() ? 0 : ranks_.rbegin()->first + 1 - sweep.ranks;
  if (missing > 0) {
    sweep.ranks += missing;
    log_.anomalies.add("rank_lines_missing", Severity::warning,
                       "some rank lines are missing; the highest rank number gives the count",
                       file_);
  }
  if (sweep.ranks == 0 && stated_ranks_ > 0) sweep.ranks = stated_ranks_;
  if (sweep.ranks != 0) return;
  // 2(n-1)/n = r or (n-1)/n = r at the largest size, where the printed digits are best.
  const Timing& last = sweep.rows.back().best();
  const double ratio = last.algbw > 0 ? last.busbw / last.algbw : 0;
  const bool is_reduce = named_ == Test::all_reduce || (named_ == Test::unknown && ratio > 1.001);
  const double n = is_reduce ? 2 / (2 - ratio) : 1 / (1 - ratio);
  if (ratio > 0 && std::isfinite(n) && n > 1.5 && n < 1e5) {
    sweep.ranks = static_cast<int>(std::lround(n));
    sweep.is_world_inferred = true;
    log_.anomalies.add(
        "ranks_inferred", Severity::warning,
        "no rank lines: the rank count is worked out from busbw / algbw; give --ranks and --nodes",
        file_);
  } else {
    log_.anomalies.add("ranks_unknown", Severity::error,
                       "no rank lines and busbw does not tell: give --ranks and --nodes", file_);
  }
}

void LogReader::settle_test(Sweep& sweep) {
  sweep.test = named_;
  if (sweep.test != Test::unknown) return;
  const Row& row = sweep.rows.back();
  const double ratio = row.best().algbw > 0 ? row.best().busbw / row.best().algbw : 0;
  const bool reduces = !row.redop.empty() && row.redop != "none";
  if (ratio > 1.001)
    sweep.test = Test::all_reduce;
  else if (ratio > 0 && ratio < 0.9995)
    sweep.test = reduces ? Test::reduce_scatter : Test::all_gather;
  else if (row.root >= 0)
    sweep.test = reduces ? Test::reduce : Test::broadcast;
  else if (sweep.ranks == 2 && reduces)
    sweep.test = Test::all_reduce;  // 2(n-1)/n = 1 for two ranks
  else
    sweep.test = Test::send_recv;
  sweep.is_test_inferred = true;
  log_.anomalies.add("collective_inferred", Severity::warning,
                     "the log does not name its collective; it was worked out from busbw / algbw "
                     "and redop (all-gather "
                     "and all-to-all look alike): name the file after the test",
                     file_);
}
}  // namespace

bool sniff(std::string_view head) {
  if (head.find("nccl-tests version") != std::string_view::npos ||
      head.find("rccl-tests") != std::string_view::npos)
    return true;
  if (head.find("algbw") != std::string_view::npos && head.find("busbw") != std::string_view::npos)
    return true;
  if (head.find("# nThread") != std::string_view::npos ||
      head.find("Collective test starting") != std::string_view::npos)
    return true;
  int rows = 0;  // no header: two data rows are proof enough
  for (std::size_t at = 0; at < head.size() && rows < 2;) {
    const std::size_t end = std::min(head.find('\n', at), head.size());
    bool is_cut = false;
    if (row_of(without_prefix(head.substr(at, end - at)), is_cut)) ++rows;
    at = end + 1;
  }
  return rows == 2;
}

Log parse_log(const std::string& text, const std::string& file) {
  Log log;
  LogReader reader(file, log);
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t newline = text.find('\n', at);
    const std::size_t end = std::min(newline, text.size());
    reader.line(std::string_view(text).substr(at, end - at), ++number,
                newline == std::string::npos);
    at = end + 1;
  }
  reader.finish();
  return log;
}

double bus_factor(Test test, int ranks) {
  if (ranks < 2) return 1;
  const double n = ranks;
  switch (test) {
    case Test::all_reduce:
      return 2 * (n - 1) / n;
    case Test::all_gather:
    case Test::reduce_scatter:
    case Test::all_to_all:
    case Test::scatter:
    case Test::gather:
    case Test::hypercube:
      return (n - 1) / n;
    default:
      return 1;
  }
}

std::optional<Collective> collective_of(Test test) {
  switch (test) {
    case Test::all_reduce:
      return Collective::all_reduce;
    case Test::all_gather:
      return Collective::all_gather;
    case Test::reduce_scatter:
      return Collective::reduce_scatter;
    case Test::broadcast:
      return Collective::broadcast;
    case Test::all_to_all:
      return Collective::all_to_all;
    case Test::send_recv:
      return Collective::send_recv;
    default:
      return std::nullopt;
  }
}
}  // namespace stepcast::nccl_tests
