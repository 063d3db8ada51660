#include "sim/import/chakra/execution_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/import/common/nccl_identity.hpp"

namespace stepcast::chakra {
namespace {
constexpr double kSameCapture = 0.95;  // of the ids that both know must name the same operator

bool is_product(std::string_view name) {  // the operators whose shapes a Kineto import keeps
  if (!name.starts_with("aten::")) return false;
  for (std::string_view word : {"mm", "linear", "conv", "attention", "matmul"})
    if (name.find(word) != std::string_view::npos) return true;
  return false;
}
std::uint32_t shape_index(RankTrace& trace, const OpShape& shape,
                          std::map<std::string, std::uint32_t>& known) {
  const auto [at, is_new] = known.emplace(shape.dims + '\x01' + shape.types + '\x01' + shape.values,
                                          static_cast<std::uint32_t>(trace.op_shapes.size()));
  if (is_new) trace.op_shapes.push_back(shape);
  return at->second;
}
}  // namespace

std::vector<Node> nodes_of(const ExecutionTrace& trace) {
  std::set<std::uint64_t> parents;
  for (const EtNode& n : trace.nodes) parents.insert(n.parent);
  std::vector<const EtNode*> ordered;  // ids count calls in order
  for (const EtNode& n : trace.nodes) ordered.push_back(&n);
  std::stable_sort(ordered.begin(), ordered.end(), [](auto a, auto b) { return a->id < b->id; });
  std::vector<Node> nodes;
  std::map<std::uint64_t, std::uint64_t> last_on_thread;
  for (const EtNode* from : ordered) {
    const bool is_collective = !from->collective.empty();
    if (!is_collective && (parents.contains(from->id) || from->name.starts_with("[pytorch") ||
                           from->name.starts_with("##") || from->name == "record_param_comms" ||
                           from->name.starts_with("nccl:")))
      continue;
    Node n;
    n.id = from->id, n.name = is_collective ? from->collective : from->name;
    n.type = is_collective ? kCollective : kCompute;
    if (const auto before = last_on_thread.find(from->tid); before != last_on_thread.end())
      n.deps.push_back(before->second);
    last_on_thread[from->tid] = n.id;
    if (is_collective) {
      const auto collective = collective_named_in(from->collective);
      n.comm_size = nccl_tests_bytes(collective, from->elements, from->out_elements,
                                     from->element_bytes, from->group_size);
      n.group = from->group, n.group_size = from->group_size;
      const std::map<Collective, int> numbers{{Collective::all_reduce, 0},
                                              {Collective::all_gather, 2},
                                              {Collective::broadcast, 5},
                                              {Collective::all_to_all, 6},
                                              {Collective::reduce_scatter, 7}};
      n.comm_type = collective && numbers.contains(*collective) ? numbers.at(*collective) : 1;
    }
    nodes.push_back(std::move(n));
  }
  return nodes;
}

Linked link(const ExecutionTrace& from, RankTrace& to) {
  Linked result;
  std::map<std::uint64_t, const EtNode*> by_id;
  std::vector<const EtNode*> products;
  for (const EtNode& n : from.nodes) {
    if (!is_product(n.name)) continue;
    if (n.rf_id != 0) by_id.emplace(n.rf_id, &n);
    products.push_back(&n);
  }
  std::stable_sort(products.begin(), products.end(), [](auto a, auto b) { return a->id < b->id; });
  std::vector<std::uint32_t> theirs;
  std::int64_t known = 0, equal = 0;
  for (std::uint32_t i = 0; i < to.events.size(); ++i) {
    const TraceEvent& e = to.events[i];
    if (e.kind != EventKind::host_op || !is_product(to.names.text_of(e.name))) continue;
    theirs.push_back(i);
    if (const auto found = e.correlation == 0 ? by_id.end() : by_id.find(e.correlation);
        found != by_id.end())
      ++known, equal += found->second->name == to.names.text_of(e.name);
  }
  if (products.empty() || theirs.empty()) {
    result.reason = products.empty()
                        ? "the execution trace holds no product, convolution or attention"
                        : "the Kineto trace holds no product, convolution or attention";
    return result;
  }
  std::map<std::string, std::uint32_t> shapes;
  for (std::uint32_t i = 0; i < to.op_shapes.size(); ++i)
    shapes.emplace(
        to.op_shapes[i].dims + '\x01' + to.op_shapes[i].types + '\x01' + to.op_shapes[i].values, i);
  const bool has_ids = std::any_of(theirs.begin(), theirs.end(),
                                   [&](auto i) { return to.events[i].correlation != 0; });
  if (has_ids && !by_id.empty()) {
    if (known == 0 || static_cast<double>(equal) < kSameCapture * static_cast<double>(known)) {
      result.reason = fmt::format(
          "different captures: of {} operators of the trace, {} ids are known and {} of them name "
          "the same operator",
          theirs.size(), known, equal);
      return result;
    }
    for (const auto i : theirs) {
      TraceEvent& e = to.events[i];
      const auto found = by_id.find(e.correlation);
      if (found == by_id.end() || found->second->name != to.names.text_of(e.name) ||
          e.shape != kNone)
        continue;
      e.shape = shape_index(to, found->second->shape, shapes);
      ++result.by_id;
    }
    return result;
  }
  // Without ids on both sides: the same operators in the same order on each thread, or these are
  // two different stretches of time.
  if (products.size() != theirs.size()) {
    result.reason = fmt::format(
        "different captures: {} products in the execution trace, {} in the Kineto trace, and no "
        "ids to tell which is which",
        products.size(), theirs.size());
    return result;
  }
  std::map<std::uint64_t, std::vector<const EtNode*>> mine;
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_track;
  for (const EtNode* n : products) mine[n->tid].push_back(n);
  for (const auto i : theirs) of_track[to.events[i].track].push_back(i);
  std::vector<std::pair<std::uint32_t, const EtNode*>> pairs;
  for (const auto& [tid, list] : mine) {
    const auto same = std::find_if(of_track.begin(), of_track.end(), [&](const auto& t) {
      return t.second.size() == list.size() &&
             std::equal(list.begin(), list.end(), t.second.begin(),
                        [&](const EtNode* n, std::uint32_t i) {
                          return n->name == to.names.text_of(to.events[i].name);
                        });
    });
    if (same == of_track.end()) {
      result.reason = fmt::format(
          "different captures: no thread of the Kineto trace lists the {} products of thread {}",
          list.size(), tid);
      return result;
    }
    for (std::size_t k = 0; k < list.size(); ++k) pairs.emplace_back(same->second[k], list[k]);
    of_track.erase(same);
  }
  for (const auto& [i, n] : pairs)
    if (to.events[i].shape == kNone)
      to.events[i].shape = shape_index(to, n->shape, shapes), ++result.by_order;
  return result;
}
}  // namespace stepcast::chakra
