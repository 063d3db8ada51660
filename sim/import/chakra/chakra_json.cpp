#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "sim/core/result.hpp"
#include "sim/import/chakra/chakra_node.hpp"
#include "sim/import/chakra/execution_trace.hpp"
#include "sim/import/common/byte_source.hpp"
#include "sim/import/common/nccl_identity.hpp"

namespace stepcast::chakra {
namespace {
using simdjson::dom::element;
using simdjson::dom::object;
constexpr std::int64_t kLimit = std::int64_t{1} << 30;

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw InputError(Problem{path, "", message, "give a Chakra or PyTorch execution trace"});
}

/// Numbers may be texts: protobuf's JSON writes 64-bit ones so.
bool number_in(const element& e, std::int64_t& out) {
  if (e.get(out) == simdjson::SUCCESS) return true;
  if (std::uint64_t large = 0; e.get(large) == simdjson::SUCCESS) {
    out = std::numeric_limits<std::int64_t>::max();
    return true;
  }
  if (bool truth = false; e.get(truth) == simdjson::SUCCESS) return out = truth ? 1 : 0, true;
  if (double value = 0; e.get(value) == simdjson::SUCCESS) {
    if (!(std::abs(value) < 9e18)) return false;
    out = static_cast<std::int64_t>(value);
    return true;
  }
  std::string_view words;
  if (e.get(words) != simdjson::SUCCESS) return false;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), out);
  return error == std::errc{} && end == words.data() + words.size() && !words.empty();
}
std::uint64_t id_in(const element& e) {
  std::int64_t value = 0;
  return number_in(e, value) ? static_cast<std::uint64_t>(value) : 0;
}
std::string text_in(const element& e) {
  std::string_view words;
  return e.get(words) == simdjson::SUCCESS ? std::string(words) : std::string();
}
/// First of several spellings of a key.
template <class... Names>
std::optional<element> field(const object& o, Names... names) {
  element found;
  std::optional<element> result;
  ((result.has_value() || o[names].get(found) != simdjson::SUCCESS ? void() : void(result = found)),
   ...);
  return result;
}

void set_attribute(Node& n, std::string_view name, const element& value) {
  std::int64_t number = 0;
  const bool has_number = number_in(value, number);
  if (name == "pg_name" || name == "comm_group")
    n.group = has_number && text_in(value).empty() ? std::to_string(number) : text_in(value);
  else if (!has_number)
    return;
  else if (name == "comm_type")
    n.comm_type = number;
  else if (name == "comm_size")
    n.comm_size = number;
  else if (name == "comm_src")
    n.source = number;
  else if (name == "comm_dst")
    n.destination = number;
  else if (name == "comm_tag")
    n.tag = number;
  else if (name == "pg_size" || name == "group_size")
    n.group_size = number;
  else if (name == "num_ops")
    n.num_ops = number;
}
std::int64_t comm_type_named(std::string_view text) {
  std::string lower;
  for (const char c : text)
    lower += c == '_' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (const auto c = collective_named_in(lower)) {
    switch (*c) {
      case Collective::all_reduce:
        return 0;
      case Collective::all_gather:
        return 2;
      case Collective::broadcast:
        return 5;
      case Collective::all_to_all:
        return 6;
      case Collective::reduce_scatter:
        return 7;
      default:
        break;
    }
  }
  return -1;
}
bool node_in(const object& o, Node& n) {
  const auto id = field(o, "id");
  const auto name = field(o, "name");
  if (!id && !name) return false;
  if (id) n.id = id_in(*id);
  if (name) n.name = text_in(*name);
  if (const auto type = field(o, "type", "node_type", "nodeType")) {
    n.type = type_named(text_in(*type));
    if (std::int64_t number = 0; n.type == 0 && number_in(*type, number))
      n.type = static_cast<std::uint64_t>(std::clamp<std::int64_t>(number, 0, 100));
  }
  for (const char* key : {"ctrl_deps", "ctrlDeps", "data_deps", "dataDeps", "parent", "deps"}) {
    simdjson::dom::array list;
    element single;
    if (o[key].get(list) == simdjson::SUCCESS)
      for (const element& e : list) n.deps.push_back(id_in(e));
    else if (o[key].get(single) == simdjson::SUCCESS && !single.is_null())
      n.deps.push_back(id_in(single));
  }
  if (const auto duration = field(o, "duration_micros", "durationMicros", "duration"))
    if (std::int64_t number = 0; number_in(*duration, number))
      n.duration_us = std::clamp<std::int64_t>(number, 0, 1'000'000'000'000);
  for (const char* key :
       {"comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "pg_name", "num_ops"}) {
    element value;
    if (o[key].get(value) == simdjson::SUCCESS) set_attribute(n, key, value);
  }
  if (const auto kind = field(o, "comm_type"); kind && n.comm_type < 0)
    n.comm_type = comm_type_named(text_in(*kind));
  simdjson::dom::array attributes;
  if (o["attr"].get(attributes) == simdjson::SUCCESS ||
      o["attrs"].get(attributes) == simdjson::SUCCESS ||
      o["attribute"].get(attributes) == simdjson::SUCCESS)
    for (const element& a : attributes) {
      object attribute;
      if (a.get(attribute) != simdjson::SUCCESS) continue;
      std::string name_of_it;
      std::optional<element> value;
      for (const auto& [key, member] : attribute) {
        if (key == "name")
          name_of_it = text_in(member);
        else if (key != "doc_string" && key != "docString" && key != "type")
          value = member;  // int64Val, stringVal, value ...
      }
      if (!value) continue;
      set_attribute(n, name_of_it, *value);
      if (name_of_it == "comm_type" && n.comm_type < 0)
        n.comm_type = comm_type_named(text_in(*value));
    }
  return true;
}

/// Tensor(float) -> float, Tensor(c10::BFloat16) -> c10::BFloat16, others as they are.
std::string kineto_type(const std::string& type) {
  return type.starts_with("Tensor(") && type.ends_with(")") ? type.substr(7, type.size() - 8)
                                                            : type;
}
struct Lists {
  element values, shapes, types;
  bool has_values = false, has_shapes = false, has_types = false;
};
Lists lists_of(const object& o, bool is_input) {
  Lists l;
  object nested;
  if (o[is_input ? "inputs" : "outputs"].get(nested) == simdjson::SUCCESS) {
    l.has_values = nested["values"].get(l.values) == simdjson::SUCCESS;
    l.has_shapes = nested["shapes"].get(l.shapes) == simdjson::SUCCESS;
    l.has_types = nested["types"].get(l.types) == simdjson::SUCCESS;
  } else {
    l.has_values = o[is_input ? "inputs" : "outputs"].get(l.values) == simdjson::SUCCESS;
    l.has_shapes =
        o[is_input ? "input_shapes" : "output_shapes"].get(l.shapes) == simdjson::SUCCESS;
    l.has_types = o[is_input ? "input_types" : "output_types"].get(l.types) == simdjson::SUCCESS;
  }
  return l;
}
/// A tensor is [id, storage, offset, elements, bytes an element, device]; counts all that a value
/// holds.
void count_tensors(const element& e, std::int64_t& elements, int& element_bytes, int depth = 0) {
  simdjson::dom::array list;
  if (depth > 6 || e.get(list) != simdjson::SUCCESS) return;
  if (list.size() == 6 && list.at(5).is_string()) {
    std::int64_t count = 0, bytes = 0;
    if (number_in(list.at(3).value(), count) && number_in(list.at(4).value(), bytes) &&
        count >= 0 && count < (std::int64_t{1} << 45) && bytes > 0 && bytes <= 16)
      elements += count, element_bytes = static_cast<int>(bytes);
    return;
  }
  for (const element& inner : list) count_tensors(inner, elements, element_bytes, depth + 1);
}
void read_collective(const object& o, EtNode& n, int& rank) {
  const Lists in = lists_of(o, true), out = lists_of(o, false);
  simdjson::dom::array values;
  if (!in.has_values || in.values.get(values) != simdjson::SUCCESS) return;
  std::int64_t before = -1, last = 0;
  for (const element& e : values) {
    std::string_view words;
    std::int64_t number = 0;
    if (e.get(words) == simdjson::SUCCESS) {
      bool is_known = false;
      collective_named_in(words, &is_known);
      if (is_known && n.collective.empty()) {
        n.collective = std::string(words);
        if (before >= 0 && before < 100'000'000) rank = static_cast<int>(before);
      }
    } else if (number_in(e, number)) {
      before = last = number;
    } else {
      simdjson::dom::array list;  // newer: ["0", "default_pg"]
      if (n.group.empty() && e.get(list) == simdjson::SUCCESS && list.size() == 2 &&
          list.at(0).is_string())
        n.group = text_in(list.at(0).value());
    }
  }
  if (n.collective.empty()) return;
  if (last > 0 && last < 100'000'000) n.group_size = static_cast<int>(last);
  count_tensors(in.values, n.elements, n.element_bytes);
  if (out.has_values) count_tensors(out.values, n.out_elements, n.element_bytes);
}

EtNode et_node_of(const object& o, int& rank) {
  EtNode n;
  if (const auto id = field(o, "id")) n.id = id_in(*id);
  if (const auto name = field(o, "name")) n.name = text_in(*name);
  if (const auto parent = field(o, "ctrl_deps", "parent")) n.parent = id_in(*parent);
  if (const auto rf = field(o, "rf_id")) n.rf_id = id_in(*rf);
  if (const auto tid = field(o, "tid")) n.tid = id_in(*tid);
  std::int64_t in_elements = 0, out_elements = 0;
  std::string dtype;
  simdjson::dom::array attributes;
  if (o["attrs"].get(attributes) == simdjson::SUCCESS)
    for (const element& a : attributes) {
      object attribute;
      element value;
      if (a.get(attribute) != simdjson::SUCCESS ||
          attribute["value"].get(value) != simdjson::SUCCESS)
        continue;
      element key;
      if (attribute["name"].get(key) != simdjson::SUCCESS) continue;
      const std::string name = text_in(key);
      std::int64_t number = 0;
      const bool has_number = number_in(value, number);
      if (name == "rf_id")
        n.rf_id = id_in(value);
      else if (name == "tid")
        n.tid = id_in(value);
      else if (name == "collective_name")
        n.collective = text_in(value);
      else if (name == "dtype")
        dtype = text_in(value);
      else if (name == "pg_name")
        n.group = text_in(value);
      else if (name == "pg_size" && has_number && number < 100'000'000)
        n.group_size = static_cast<int>(number);
      else if (name == "in_msg_nelems" && has_number)
        in_elements = number;
      else if (name == "out_msg_nelems" && has_number)
        out_elements = number;
    }
  if (n.name == "record_param_comms") {
    const std::string stated = n.collective;
    n.collective.clear();
    read_collective(o, n, rank);
    if (!stated.empty()) n.collective = stated;
    if (in_elements > 0) n.elements = in_elements, n.out_elements = out_elements;
    if (element_bytes(dtype) > 0) n.element_bytes = element_bytes(dtype);
    return n;
  }
  const Lists in = lists_of(o, true);
  if (in.has_shapes) n.shape.dims = simdjson::minify(in.shapes);
  if (in.has_values) {
    // Values as Kineto writes them: texts, empty for tensors.
    simdjson::dom::array values;
    std::string list;
    if (in.values.get(values) == simdjson::SUCCESS)
      for (const element& e : values) {
        std::string word;
        bool truth = false;
        if (e.get(truth) == simdjson::SUCCESS)
          word = truth ? "True" : "False";
        else if (simdjson::dom::array inner; e.get(inner) == simdjson::SUCCESS)
          word = inner.size() == 6 && inner.at(5).is_string() ? "" : simdjson::minify(e);
        else if (!e.is_string())
          word = simdjson::minify(e);
        std::replace(word.begin(), word.end(), '"', '\'');
        list += (list.empty() ? "\"" : ", \"") + word + "\"";
      }
    n.shape.values = "[" + list + "]";
  }
  simdjson::dom::array types;
  std::string list;
  if (in.has_types && in.types.get(types) == simdjson::SUCCESS)
    for (const element& e : types)
      list += (list.empty() ? "\"" : ", \"") + kineto_type(text_in(e)) + "\"";
  n.shape.types = "[" + list + "]";
  return n;
}
}  // namespace

std::optional<ExecutionTrace> read_execution_trace(const std::string& path, Anomalies& anomalies) {
  const std::string bytes = read_all(path, kLimit);
  const std::string_view head(bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 14));
  if (head.find("\"schema\"") == std::string_view::npos) return std::nullopt;
  simdjson::dom::parser parser;
  object document;
  if (const auto error = parser.parse(bytes.data(), bytes.size()).get(document))
    fail(path, fmt::format("is no whole JSON document: {}", simdjson::error_message(error)));
  simdjson::dom::array nodes;
  if (document["nodes"].get(nodes) != simdjson::SUCCESS) return std::nullopt;
  ExecutionTrace trace;
  trace.file = path;
  if (const auto schema = field(document, "schema")) trace.schema = text_in(*schema);
  std::int64_t odd = 0;
  for (const element& e : nodes) {
    object o;
    if (e.get(o) == simdjson::SUCCESS)
      trace.nodes.push_back(et_node_of(o, trace.rank));
    else
      ++odd;
  }
  anomalies.add("node_unreadable", Severity::error,
                "entries of the node list that are no objects are lost", path, odd);
  if (trace.nodes.empty()) fail(path, "holds no node");
  return trace;
}

std::vector<Node> nodes_in_json(const std::string& path, Anomalies& anomalies) {
  const std::string bytes = read_all(path, kLimit);
  if (bytes.empty()) fail(path, "is empty");
  std::vector<Node> nodes;
  std::int64_t odd = 0;
  const auto take = [&](const object& o) {
    Node n;
    if (!node_in(o, n)) return false;
    nodes.push_back(std::move(n));
    return true;
  };
  simdjson::dom::parser parser;
  simdjson::dom::document_stream documents;
  // The largest document may be the whole file: one object with all nodes.
  const simdjson::padded_string padded(bytes);
  if (parser.parse_many(padded, std::max<std::size_t>(bytes.size(), 32) + 1).get(documents) !=
      simdjson::SUCCESS)
    fail(path, "is no JSON");
  std::size_t count = 0;
  for (auto document : documents) {
    object o;
    if (const auto error = document.get(o))
      fail(path, fmt::format("breaks off or is damaged after {} objects: {}", count,
                             simdjson::error_message(error)));
    ++count;
    simdjson::dom::array list;
    if (o["nodes"].get(list) == simdjson::SUCCESS) {
      for (const element& e : list) {
        object inner;
        if (e.get(inner) != simdjson::SUCCESS || !take(inner)) ++odd;
      }
    } else if (!take(o) && count > 1) {
      ++odd;  // the first object may be the metadata
    }
  }
  if (documents.truncated_bytes() > 0)
    fail(path, fmt::format("breaks off after {} objects", count));
  anomalies.add("node_unreadable", Severity::error, "objects without id and name are lost", path,
                odd);
  if (nodes.empty()) fail(path, "holds no node");
  return nodes;
}

bool sniff_json(std::string_view head) {
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos || head[at] != '{') return false;
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  if (has("\"traceEvents\"") || has("\"stepcast_workload\"")) return false;
  return (has("\"nodes\"") && (has("\"schema\"") || has("ctrl_deps") || has("ctrlDeps") ||
                               has("data_deps") || has("\"comm_type\""))) ||
         has("COMM_COLL_NODE") || has("COMP_NODE") || has("METADATA_NODE") ||
         ((has("\"ctrlDeps\"") || has("\"dataDeps\"") || has("\"durationMicros\"")) &&
          has("\"name\""));
}
}  // namespace stepcast::chakra
