#include "sim/import/chakra/chakra.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "sim/import/common/byte_source.hpp"

namespace stepcast::chakra {
namespace {
using google::protobuf::io::CodedInputStream;
constexpr std::int64_t kLimit = std::int64_t{1} << 31;
constexpr double kLatency = 5e-6, kBytesPerSecond = 50e9;  // stand-in link (400 Gb/s) until a network is given; a note says so

struct Node {
  std::uint64_t id = 0, type = 0;
  std::string name;
  std::vector<std::uint64_t> deps;
  std::int64_t duration_us = 0, comm_type = -1, comm_size = 0, peer = -1, tag = 0;
  std::string group;
};

bool skip(CodedInputStream& in, std::uint32_t tag) {
  std::uint64_t value = 0;
  std::uint32_t length = 0;
  switch (tag & 7) {
    case 0: return in.ReadVarint64(&value);
    case 1: return in.ReadLittleEndian64(&value);
    case 2: return in.ReadVarint32(&length) && in.Skip(static_cast<int>(std::min<std::uint32_t>(length, 0x7fffffff)));
    case 5: return in.ReadLittleEndian32(&length);
    default: return false;
  }
}
/// Reads a field's bytes as a nested message: runs `body` until its end.
template <class Body>
bool nested(CodedInputStream& in, Body&& body) {
  std::uint32_t length = 0;
  if (!in.ReadVarint32(&length) || length > 0x7fffffff || (in.BytesUntilLimit() >= 0 && static_cast<int>(length) > in.BytesUntilLimit())) return false;
  const auto limit = in.PushLimit(static_cast<int>(length));
  const bool is_good = body() && in.BytesUntilLimit() == 0;
  in.PopLimit(limit);
  return is_good;
}
bool text(CodedInputStream& in, std::string& out) {
  std::uint32_t length = 0;
  return in.ReadVarint32(&length) && length < (1u << 28) && in.ReadString(&out, static_cast<int>(length));
}
bool attribute(CodedInputStream& in, Node& node) {
  std::string name, value_text;
  std::uint64_t value = 0;
  bool has_value = false;
  while (const std::uint32_t tag = in.ReadTag()) {
    const std::uint32_t field = tag >> 3;
    if (field == 1 && (tag & 7) == 2) {
      if (!text(in, name)) return false;
    } else if ((tag & 7) == 2 && (field == 29 || field == 31)) {
      if (!text(in, value_text)) return false;
    } else if ((tag & 7) == 0) {
      if (!in.ReadVarint64(&value)) return false;
      if (field == 15 || field == 17) value = (value >> 1) ^ (~(value & 1) + 1);  // zigzag
      has_value = true;
    } else if (!skip(in, tag)) {
      return false;
    }
  }
  const auto number = static_cast<std::int64_t>(value);
  if (name == "comm_type" && has_value) node.comm_type = number;
  else if (name == "comm_size" && has_value) node.comm_size = number;
  else if ((name == "comm_dst" || name == "comm_src") && has_value) node.peer = number;
  else if (name == "comm_tag" && has_value) node.tag = number;
  else if (name == "pg_name") node.group = has_value ? std::to_string(number) : value_text;
  return true;
}
bool node_of(CodedInputStream& in, Node& node) {
  while (const std::uint32_t tag = in.ReadTag()) {
    const std::uint32_t field = tag >> 3, wire = tag & 7;
    std::uint64_t value = 0;
    if ((field == 4 || field == 5) && wire == 2) {
      if (!nested(in, [&] {
            while (in.BytesUntilLimit() > 0) {
              if (!in.ReadVarint64(&value)) return false;
              node.deps.push_back(value);
            }
            return true;
          }))
        return false;
    } else if (field == 2 && wire == 2) {
      if (!text(in, node.name)) return false;
    } else if (field == 10 && wire == 2) {
      if (!nested(in, [&] { return attribute(in, node); })) return false;
    } else if (wire == 0) {
      if (!in.ReadVarint64(&value)) return false;
      if (field == 1) node.id = value;
      else if (field == 3) node.type = value;
      else if (field == 4 || field == 5) node.deps.push_back(value);
      else if (field == 7) node.duration_us = static_cast<std::int64_t>(std::min<std::uint64_t>(value, 1'000'000'000'000));
    } else if (!skip(in, tag)) {
      return false;
    }
  }
  return true;
}

std::vector<Node> nodes_in(const std::string& path) {
  const std::string bytes = read_all(path, kLimit - 1);
  const auto fail = [&](const std::string& message) { throw InputError(Problem{path, "", message, "give a Chakra execution trace (.et) in protobuf form"}); };
  if (bytes.empty()) fail("is empty");
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  std::vector<Node> nodes;
  for (bool is_first = true; in.CurrentPosition() < static_cast<int>(bytes.size()); is_first = false) {
    const int at = in.CurrentPosition();
    Node node;
    const bool is_good = nested(in, [&] {
      if (!is_first) return node_of(in, node);
      while (const std::uint32_t tag = in.ReadTag())  // GlobalMetadata: version and attributes
        if (!skip(in, tag)) return false;
      return true;
    });
    if (!is_good) fail(fmt::format("breaks off or is damaged at byte {} after {} nodes", at, nodes.size()));
    if (!is_first) nodes.push_back(std::move(node));
  }
  if (nodes.empty()) fail("holds no node");
  return nodes;
}

std::optional<Collective> collective_of(std::int64_t comm_type) {
  switch (comm_type) {
    case 0: return Collective::all_reduce;
    case 2: return Collective::all_gather;
    case 5: return Collective::broadcast;
    case 6: return Collective::all_to_all;
    case 7: case 8: return Collective::reduce_scatter;
    default: return std::nullopt;
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

bool sniff(std::string_view head) {
  // A short first message whose first field is a version text (tag 0x0a) or an attribute (tag 0x12).
  if (head.size() < 4) return false;
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(head.data()), static_cast<int>(std::min<std::size_t>(head.size(), 1 << 20)));
  std::uint32_t length = 0;
  if (!in.ReadVarint32(&length) || length == 0) return false;
  const std::uint32_t tag = in.ReadTag();
  if (tag != 0x0a && tag != 0x12) return false;
  std::uint32_t inner = 0;
  if (!in.ReadVarint32(&inner) || inner >= length) return false;
  std::string value;
  if (tag == 0x0a) return inner < 32 && in.ReadString(&value, static_cast<int>(inner)) && value.find('.') != std::string::npos;
  return in.ReadTag() == 0x0a;  // an attribute begins with its name
}

Workload read_traces(std::span<const std::string> paths, Anomalies& anomalies) {
  Workload w;
  w.origin = "chakra";
  w.rule = StepRule::span;
  w.messages = MessageRule::eager;
  w.steps.push_back({0, 0});
  w.notes.push_back("Chakra traces hold no transfer times: 5 us + bytes / 50 GB/s until a network is given");
  std::map<std::string, std::int32_t> groups;
  int next_rank = 0;
  for (const std::string& path : paths) {
    const auto nodes = nodes_in(path);
    const int stated = last_number(path.substr(path.rfind('/') + 1));
    WorkRank rank{stated >= 0 && paths.size() > 1 ? stated : next_rank, -1, {"compute", "collectives"}, {}};
    ++next_rank;
    std::map<std::uint64_t, std::size_t> index_of;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (!index_of.emplace(nodes[i].id, i).second) anomalies.add("node_id_reused", Severity::error, "two nodes share an id; the first stands", path);
    // Dependencies first (chakra issue 134: linked traces may hold cycles; issue 45: parents may be missing).
    std::vector<int> open(nodes.size(), 0);
    std::vector<std::vector<std::size_t>> children(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const auto d : nodes[i].deps) {
        const auto found = index_of.find(d);
        if (found == index_of.end()) { anomalies.add("parent_missing", Severity::warning, "dependencies on nodes that the file lacks are left out", path); continue; }
        if (found->second == i) { anomalies.add("self_dependency", Severity::error, "a node that waits for itself is let go", path); continue; }
        children[found->second].push_back(i);
        ++open[i];
      }
    std::vector<std::size_t> order, ready;
    for (std::size_t i = nodes.size(); i-- > 0;)
      if (open[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      const std::size_t i = ready.back();
      ready.pop_back();
      order.push_back(i);
      for (auto child = children[i].rbegin(); child != children[i].rend(); ++child)
        if (--open[*child] == 0) ready.push_back(*child);
    }
    if (order.size() < nodes.size())
      throw InputError(Problem{path, "", fmt::format("{} nodes wait for each other in a cycle, node {} among them", nodes.size() - order.size(),
                                                     nodes[static_cast<std::size_t>(std::find_if(open.begin(), open.end(), [](int n) { return n > 0; }) - open.begin())].id),
                               "link host and device traces again"});
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
        if (const auto found = op_of.find(d); found != op_of.end()) o.after.push_back(found->second);
      if (n.type == 5 || n.type == 6) {
        o.kind = n.type == 5 ? WorkKind::send : WorkKind::recv;
        o.peer = static_cast<std::int32_t>(std::clamp<std::int64_t>(n.peer, -1, 100'000'000));
        o.match = (std::clamp<std::int64_t>(n.tag, 0, 1 << 28) << 24) + messages[{n.type == 5, n.peer, n.tag}]++;
        if (o.bytes == 0) anomalies.add("message_without_size", Severity::warning, "sends and receives without comm_size take start-up only", path);
      } else if (n.type == 7) {
        const auto collective = collective_of(n.comm_type);
        if (!collective) anomalies.add("collective_without_model", Severity::info, "reduce, gather, scatter and barrier are timed as a broadcast of their bytes", path);
        o.kind = WorkKind::collective, o.collective = collective.value_or(Collective::broadcast);
        const std::string group = n.group.empty() ? "world" : n.group;
        const auto [at, is_new] = groups.emplace(group, static_cast<std::int32_t>(w.groups.size()));
        if (is_new) w.groups.push_back({group, GroupKind::dp, 0, {}});
        o.group = at->second;
        WorkGroup& g = w.groups[static_cast<std::size_t>(o.group)];
        if (std::find(g.ranks.begin(), g.ranks.end(), rank.rank) == g.ranks.end()) g.ranks.push_back(rank.rank), ++g.size;
        o.match = collectives_of[group]++;
        o.lane = 1;
        if (o.bytes == 0) anomalies.add("collective_without_size", Severity::warning, "collectives without comm_size take start-up only (old schemas)", path);
      } else if (n.type < 1 || n.type > 7) {
        anomalies.add("unknown_node_type", Severity::warning, "nodes of a type this version does not know are taken as compute", path);
      }
      if (o.kind != WorkKind::compute) {
        if (o.kind != WorkKind::collective) {  // messages of one rank do not wait for each other unless a dependency says so
          o.lane = static_cast<std::uint16_t>(std::min<std::size_t>(rank.lanes.size(), 60000));
          if (rank.lanes.size() < 60001) rank.lanes.push_back(fmt::format("message {}", rank.lanes.size() - 2));
        }
        if (o.duration_s == 0) o.duration_s = kLatency + static_cast<double>(o.bytes) / kBytesPerSecond;
      }
      op_of.emplace(n.id, static_cast<std::uint32_t>(rank.ops.size()));
      rank.ops.push_back(std::move(o));
    }
    w.ranks.push_back(std::move(rank));
  }
  std::sort(w.ranks.begin(), w.ranks.end(), [](const WorkRank& a, const WorkRank& b) { return a.rank < b.rank; });
  return w;
}
}  // namespace stepcast::chakra
