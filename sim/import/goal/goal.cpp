#include "sim/import/goal/goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <tuple>

#include "sim/import/common/byte_source.hpp"

namespace stepcast::goal {
namespace {
constexpr std::int64_t kLimit = std::int64_t{1} << 30;
// L and G of LogGP as ATLAHS publishes them for a 200 Gb/s fabric (L = 3.7 us, G = 0.04 ns/B).
constexpr double kLatency = 3.7e-6, kPerByte = 0.04e-9;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kMostLanes = 65535;  // a lane's number has 16 bits

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r')) ++at;
    const std::size_t begin = at;
    while (at < line.size() && line[at] != ' ' && line[at] != '\t' && line[at] != '\r') ++at;
    if (at > begin) words.push_back(line.substr(begin, at - begin));
  }
  return words;
}
bool number(std::string_view word, std::int64_t& out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc{} && end == word.data() + word.size() && out >= 0 &&
         out < (std::int64_t{1} << 52);
}

struct Line {
  WorkOp op;
  std::vector<std::pair<std::string, bool>> requires_;
  int cpu = 0;
};

class Reader {
 public:
  Reader(const std::string& path, Anomalies& anomalies) : path_(path), anomalies_(anomalies) {
    w_.origin = "goal";
    w_.rule = StepRule::span;
    w_.messages = MessageRule::eager;
    w_.steps.push_back({0, 0});
    w_.notes.push_back(
        "a GOAL file holds no transfer times: 3.7 us + 0.04 ns a byte (ATLAHS, 200 Gb/s) until a "
        "network is given");
  }
  Workload read() {
    const std::string text = read_all(path_, kLimit);
    std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    for (; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      ++line_;
      take(std::string_view(text).substr(at, end - at));
      at = end + 1;
    }
    if (is_inside_) fail("ends inside a rank's block");
    if (w_.ranks.empty()) fail("holds no rank");
    if (expected_ >= 0 && static_cast<std::int64_t>(w_.ranks.size()) != expected_)
      fail(fmt::format("announces {} ranks and holds {}", expected_, w_.ranks.size()));
    std::int64_t alone = 0;
    for (const auto& [message, sends_less_receives] : open_) alone += std::abs(sends_less_receives);
    anomalies_.add("message_without_partner", Severity::warning,
                   "sends that nobody receives, or the other way round, take their own time only",
                   path_, alone);
    return std::move(w_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(Problem{path_, line_ > 0 ? fmt::format("line {}", line_) : "", message, ""});
  }
  void take(std::string_view line) {
    if (const auto comment = line.find("//"); comment != std::string_view::npos)
      line = line.substr(0, comment);
    auto words = words_of(line);
    if (words.empty()) return;
    if (words[0] == "num_ranks") {
      if (words.size() != 2 || !number(words[1], expected_)) fail("num_ranks wants one number");
    } else if (words[0] == "rank") {
      if (is_inside_ || words.size() < 2 || !number(words[1], rank_) || rank_ > 100'000'000)
        fail("\"rank N {\" is expected");
      is_inside_ = true, order_.clear(), lines_.clear();
    } else if (words[0] == "}") {
      if (!is_inside_) fail("a block ends that never began");
      finish_rank();
    } else if (words.size() == 3 && (words[1] == "requires" || words[1] == "irequires")) {
      const auto found = lines_.find(std::string(words[0]));
      if (found == lines_.end()) fail(fmt::format("{} is not defined", words[0]));
      found->second.requires_.emplace_back(std::string(words[2]), words[1] == "requires");
    } else if (words[0].back() == ':' && words.size() >= 3) {
      define(words);
    } else {
      fail(fmt::format("\"{}\" is no GOAL statement", line.substr(0, 60)));
    }
  }
  void define(const std::vector<std::string_view>& words) {
    if (!is_inside_) fail("an operation stands outside of a rank");
    const std::string label(words[0].substr(0, words[0].size() - 1));
    Line l;
    std::int64_t amount = 0;
    std::string_view size = words[2];
    if (size.ends_with('b')) size.remove_suffix(1);
    if (!number(size, amount)) fail(fmt::format("\"{}\" is no amount", words[2]));
    l.op.step = 0;
    l.op.name = w_.names.id_of(std::string(words[1]));
    if (words[1] == "calc") {
      l.op.duration_s = static_cast<double>(amount) * 1e-9;
    } else if (words[1] == "send" || words[1] == "recv") {
      std::int64_t peer = -1;
      if (words.size() < 5 || (words[3] != "to" && words[3] != "from") || !number(words[4], peer))
        fail("\"send Nb to RANK\" or \"recv Nb from RANK\" is expected");
      l.op.kind = words[1] == "send" ? WorkKind::send : WorkKind::recv;
      l.op.bytes = amount, l.op.peer = static_cast<std::int32_t>(peer);
      l.op.duration_s = kLatency + static_cast<double>(amount) * kPerByte;
    } else {
      fail(fmt::format("\"{}\" is none of calc, send, recv", words[1]));
    }
    for (std::size_t i = 3; i + 1 < words.size(); ++i) {
      std::int64_t value = 0;
      if (words[i] == "tag" && number(words[i + 1], value)) tag_[label] = value;
      if (words[i] == "cpu" && number(words[i + 1], value))
        l.cpu = static_cast<int>(std::min<std::int64_t>(value, 1000));
    }
    if (l.op.kind != WorkKind::compute) {  // equal (peer, tag) pairs meet in order
      const bool is_send = l.op.kind == WorkKind::send;
      const std::int64_t from = is_send ? rank_ : l.op.peer, to = is_send ? l.op.peer : rank_;
      open_[{from, to, tag_[label]}] += is_send ? 1 : -1;
      const auto key = std::tuple{is_send, l.op.peer, tag_[label]};
      l.op.match = (tag_[label] << 24) + seen_[key]++;
    }
    if (!lines_.emplace(label, std::move(l)).second) fail(label + " is defined twice");
    order_.push_back(label);
  }
  void finish_rank() {
    is_inside_ = false;
    WorkRank rank{static_cast<int>(rank_), -1, {}, {}};
    // Operations of one rank run as soon as they may: each gets a lane of its own but for
    // calculations, which share their CPU.
    std::map<std::string, int> state;  // 1 = in progress, 2 = placed
    std::map<std::string, std::uint32_t> index;
    std::map<int, std::uint16_t> cpu_lane;
    std::vector<std::uint16_t> message_lanes;
    std::size_t messages = 0;
    std::vector<std::pair<std::string, std::size_t>> stack;
    for (const std::string& root : order_) {
      if (state[root] == 2) continue;
      stack.emplace_back(root, 0);
      state[root] = 1;
      while (!stack.empty()) {
        const std::string label = stack.back().first;
        Line& l = lines_.at(label);
        if (stack.back().second < l.requires_.size()) {
          const std::string& needed = l.requires_[stack.back().second++].first;
          if (!lines_.contains(needed))
            fail(
                fmt::format("{} requires {}, which rank {} does not define", label, needed, rank_));
          if (state[needed] == 1)
            fail(fmt::format("{} and {} of rank {} require each other", label, needed, rank_));
          if (state[needed] == 0) state[needed] = 1, stack.emplace_back(needed, 0);
          continue;
        }
        for (const auto& [needed, is_end] : l.requires_) {
          if (is_end) {
            l.op.after.push_back(index.at(needed));
            continue;
          }
          for (const auto a : rank.ops[index.at(needed)].after)
            l.op.after.push_back(a);  // start after its start: same conditions
        }
        if (l.op.kind == WorkKind::compute) {
          const auto [at, is_new] =
              cpu_lane.emplace(l.cpu, static_cast<std::uint16_t>(rank.lanes.size()));
          if (is_new) rank.lanes.push_back(fmt::format("cpu {}", l.cpu));
          l.op.lane = at->second;
        } else {
          // Beyond that many a message follows one of long before on its lane.
          if (rank.lanes.size() < kMostLanes) {
            message_lanes.push_back(static_cast<std::uint16_t>(rank.lanes.size()));
            rank.lanes.push_back(label);
          }
          if (message_lanes.empty()) fail("a rank has more CPUs than lanes");
          l.op.lane = message_lanes[messages++ % message_lanes.size()];
        }
        index[label] = static_cast<std::uint32_t>(rank.ops.size());
        rank.ops.push_back(std::move(l.op));
        state[label] = 2;
        stack.pop_back();
      }
    }
    if (rank.ops.empty())
      anomalies_.add("rank_without_work", Severity::info, "ranks that do nothing are kept",
                     fmt::format("{} rank {}", path_, rank_));
    if (rank.lanes.empty()) rank.lanes.push_back("cpu 0");
    w_.ranks.push_back(std::move(rank));
    seen_.clear(), tag_.clear();
  }

  const std::string& path_;
  Anomalies& anomalies_;
  Workload w_;
  std::size_t line_ = 0;
  std::int64_t expected_ = -1, rank_ = 0;
  bool is_inside_ = false;
  std::vector<std::string> order_;
  std::map<std::string, Line> lines_;
  std::map<std::string, std::int64_t> tag_;
  std::map<std::tuple<bool, std::int32_t, std::int64_t>, std::int64_t> seen_;
  /// (from, to, tag) -> sends less receives
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> open_;
};
}  // namespace

bool sniff(std::string_view head) {
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  for (;;) {  // comments may stand before the first statement
    const std::size_t at = head.find_first_not_of(" \t\r\n");
    if (at == std::string_view::npos) return false;
    head.remove_prefix(at);
    if (!head.starts_with("//")) return head.starts_with("num_ranks");
    head.remove_prefix(std::min(head.find('\n'), head.size()));
  }
}
Workload read_schedule(const std::string& path, Anomalies& anomalies) {
  return Reader(path, anomalies).read();
}
}  // namespace stepcast::goal
