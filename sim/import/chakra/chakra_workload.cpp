#include "sim/import/chakra/chakra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>

#include "sim/core/result.hpp"
#include "sim/import/chakra/chakra_node.hpp"
#include "sim/import/chakra/execution_trace.hpp"
#include "sim/import/chakra/missing_ranks.hpp"
#include "sim/import/common/byte_source.hpp"
#include "sim/import/common/nccl_identity.hpp"

namespace stepcast::chakra {
namespace {
constexpr double kLatency = 5e-6,
                 kBytesPerSecond =
                     50e9;  // stand-in link (400 Gb/s) until a network is given; a note says so

std::optional<Collective> collective_of(std::int64_t comm_type) {
  switch (comm_type) {
    case 0:
      return Collective::all_reduce;
    case 2:
      return Collective::all_gather;
    case 5:
      return Collective::broadcast;
    case 6:
      return Collective::all_to_all;
    case 7:
    case 8:
      return Collective::reduce_scatter;
    default:
      return std::nullopt;
  }
}
int last_number(const std::string& path) {
  std::size_t end = path.size();
  while (end > 0 && !(path[end - 1] >= '0' && path[end - 1] <= '9')) --end;
  std::size_t begin = end;
  while (begin > 0 && path[begin - 1] >= '0' && path[begin - 1] <= '9') --begin;
  int value = -1;
  std::from_chars(path.data() + begin, path.data() + end, value);
  return value;
}
}  // namespace

bool sniff(std::string_view head) { return sniff_json(head) || sniff_protobuf(head); }

Workload read_traces(std::span<const std::string> paths, Anomalies& anomalies) {
  Workload w;
  w.origin = "chakra";
  w.rule = StepRule::span;
  w.messages = MessageRule::eager;
  w.steps.push_back({0, 0});
  w.notes.push_back(
      "Chakra traces hold no transfer times: 5 us + bytes / 50 GB/s until a network is given");
  std::map<std::string, std::int32_t> groups;
  RanksSeen seen;
  std::set<int>& taken = seen.read;
  int next_rank = 0;
  for (const std::string& path : paths) {
    int stated = paths.size() > 1 ? last_number(path.substr(path.rfind('/') + 1)) : -1;
    std::vector<Node> nodes;
    if (!sniff_json(head_of(path))) {
      nodes = nodes_in_protobuf(path, anomalies);
    } else if (const auto host = read_execution_trace(path, anomalies)) {
      nodes = nodes_of(*host);
      if (host->rank >= 0) stated = host->rank;
      if (w.notes.size() < 2)
        w.notes.push_back(
            "a host execution trace holds no durations: import it together with the Kineto trace "
            "of the same run for times");
    } else {
      nodes = nodes_in_json(path, anomalies);
    }
    while (stated < 0 || taken.contains(stated)) stated = next_rank++;
    taken.insert(stated);
    WorkRank rank{stated, -1, {"compute", "collectives"}, {}};
    std::map<std::uint64_t, std::size_t> index_of;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (!index_of.emplace(nodes[i].id, i).second)
        anomalies.add("node_id_reused", Severity::error, "two nodes share an id; the first stands",
                      path);
    // Dependencies first (chakra issue 134: linked traces may hold cycles; issue 45: parents may be
    // missing).
    std::vector<int> open(nodes.size(), 0);
    std::vector<std::vector<std::size_t>> children(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const auto d : nodes[i].deps) {
        const auto found = index_of.find(d);
        if (found == index_of.end()) {
          anomalies.add("parent_missing", Severity::warning,
                        "dependencies on nodes that the file lacks are left out", path);
          continue;
        }
        if (found->second == i) {
          anomalies.add("self_dependency", Severity::error,
                        "a node that waits for itself is let go", path);
          continue;
        }
        children[found->second].push_back(i);
        ++open[i];
      }
    std::vector<std::size_t> order;
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>
        ready;  // file order where dependencies leave a choice
    std::vector<bool> is_placed(nodes.size(), false);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (open[i] == 0) ready.push(i);
    for (std::size_t next = 0; order.size() < nodes.size();) {
      if (ready.empty()) {
        while (is_placed[next]) ++next;
        anomalies.add("dependency_cycle", Severity::error,
                      "nodes that wait for each other in a cycle: the first in the file is let go; "
                      "link host and device traces again",
                      fmt::format("{} node {}", path, nodes[next].id));
        open[next] = 0;
        ready.push(next);
      }
      const std::size_t i = ready.top();
      ready.pop();
      if (is_placed[i]) continue;
      is_placed[i] = true;
      order.push_back(i);
      for (const std::size_t child : children[i])
        if (--open[child] == 0) ready.push(child);
    }
    std::map<std::uint64_t, std::uint32_t> op_of;
    std::map<std::string, std::int64_t> collectives_of;
    std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::int64_t> messages;
    for (const std::size_t i : order) {
      const Node& n = nodes[i];
      WorkOp o;
      o.step = 0;
      o.name = w.names.id_of(n.name.empty() ? fmt::format("node {}", n.id) : n.name);
      o.duration_s = static_cast<double>(n.duration_us) * 1e-6;
      o.bytes = std::clamp<std::int64_t>(n.comm_size, 0, std::int64_t{1} << 50);
      for (const auto d : n.deps)
        if (const auto found = op_of.find(d); found != op_of.end())
          o.after.push_back(found->second);
      if (n.type == kSend || n.type == kReceive) {
        o.kind = n.type == kSend ? WorkKind::send : WorkKind::recv;
        o.peer = static_cast<std::int32_t>(std::clamp<std::int64_t>(n.peer(), -1, 100'000'000));
        if (o.peer >= 0) seen.peers.insert(o.peer);
        o.match = (std::clamp<std::int64_t>(n.tag, 0, 1 << 28) << 24) +
                  messages[{n.type == kSend, n.peer(), n.tag}]++;
        if (o.bytes == 0)
          anomalies.add("message_without_size", Severity::warning,
                        "sends and receives without comm_size take start-up only", path);
      } else if (n.type == kCollective) {
        auto collective = collective_of(n.comm_type);
        const auto named = collective_named_in(n.name);
        if (named && named != collective &&
            *named != Collective::send_recv) {  // a converter may write numbers of another schema
          if (collective)
            anomalies.add(
                "comm_type_against_name", Severity::warning,
                "collectives whose number says another kind than their name: the name is believed",
                path);
          collective = named;
        }
        if (!collective)
          anomalies.add(
              "collective_without_model", Severity::info,
              "reduce, gather, scatter and barrier are timed as a broadcast of their bytes", path);
        o.kind = WorkKind::collective, o.collective = collective.value_or(Collective::broadcast);
        const std::string group = n.group.empty() ? "world" : n.group;
        const auto [at, is_new] = groups.emplace(group, static_cast<std::int32_t>(w.groups.size()));
        if (is_new) w.groups.push_back({group, GroupKind::dp, 0, {}});
        o.group = at->second;
        WorkGroup& g = w.groups[static_cast<std::size_t>(o.group)];
        if (std::find(g.ranks.begin(), g.ranks.end(), rank.rank) == g.ranks.end())
          g.ranks.push_back(rank.rank), ++g.size;
        seen.largest_group =
            std::max(seen.largest_group, std::min<std::int64_t>(n.group_size, 100'000'000));
        if (n.group_size > 0)
          g.size =
              std::max(g.size, static_cast<int>(std::min<std::int64_t>(n.group_size, 100'000'000)));
        o.match = collectives_of[group]++;
        o.lane = 1;
        if (o.bytes == 0)
          anomalies.add("collective_without_size", Severity::warning,
                        "collectives without comm_size take start-up only (old schemas)", path);
      } else if (n.num_ops > 0 && n.duration_us == 0) {
        anomalies.add("compute_without_duration", Severity::warning,
                      "compute nodes that state operations and no time take none: give durations, "
                      "or simulate a scenario",
                      path);
      } else if (n.type < 1 || n.type > 10) {
        anomalies.add("unknown_node_type", Severity::warning,
                      "nodes of a type this version does not know are taken as compute", path);
      }
      if (o.kind != WorkKind::compute) {
        if (o.kind != WorkKind::collective) {  // messages of one rank do not wait for each other
                                               // unless a dependency says so
          o.lane = static_cast<std::uint16_t>(std::min<std::size_t>(rank.lanes.size(), 60000));
          if (rank.lanes.size() < 60001)
            rank.lanes.push_back(fmt::format("message {}", rank.lanes.size() - 2));
        }
        if (o.duration_s == 0)
          o.duration_s = kLatency + static_cast<double>(o.bytes) / kBytesPerSecond;
      }
      op_of.emplace(n.id, static_cast<std::uint32_t>(rank.ops.size()));
      rank.ops.push_back(std::move(o));
    }
    w.ranks.push_back(std::move(rank));
  }
  if (const std::string missing = missing_ranks(seen); !missing.empty()) {
    anomalies.add("ranks_missing", Severity::warning,
                  "ranks of the job without a file: nobody waits for them and nothing is sent by "
                  "them, so a replay may be too fast; give the files of all ranks",
                  fmt::format("ranks {} beside {} files", missing, paths.size()));
    w.notes.push_back(fmt::format("no file for ranks {}: waiting for them is unknown", missing));
  }
  std::sort(w.ranks.begin(), w.ranks.end(),
            [](const WorkRank& a, const WorkRank& b) { return a.rank < b.rank; });
  return w;
}
}  // namespace stepcast::chakra
