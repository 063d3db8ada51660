// Wire format by hand: schemas of 2022 to today differ in field numbers and none of them needs
// generated code.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>

#include "sim/core/result.hpp"
#include "sim/import/chakra/chakra_node.hpp"
#include "sim/import/common/byte_source.hpp"

namespace stepcast::chakra {
namespace {
using google::protobuf::io::CodedInputStream;
constexpr std::int64_t kLimit = std::int64_t{1} << 31;

/// What tells the schemas apart, gathered while reading.
struct Schema {
  bool has_plain_fields = false, has_old_attributes = false, has_type_7 = false,
       has_comm_field_at_6 = false;
};

bool skip(CodedInputStream& in, std::uint32_t tag) {
  std::uint64_t value = 0;
  std::uint32_t length = 0;
  switch (tag & 7) {
    case 0:
      return in.ReadVarint64(&value);
    case 1:
      return in.ReadLittleEndian64(&value);
    case 2:
      return in.ReadVarint32(&length) && length <= 0x7fffffff && in.Skip(static_cast<int>(length));
    case 5:
      return in.ReadLittleEndian32(&length);
    default:
      return false;
  }
}
/// Reads a field's bytes as a nested message: runs `body` until its end.
template <class Body>
bool nested(CodedInputStream& in, Body&& body) {
  std::uint32_t length = 0;
  if (!in.ReadVarint32(&length) || length > 0x7fffffff ||
      (in.BytesUntilLimit() >= 0 && static_cast<int>(length) > in.BytesUntilLimit()))
    return false;
  const auto limit = in.PushLimit(static_cast<int>(length));
  const bool is_good = body() && in.BytesUntilLimit() == 0;
  in.PopLimit(limit);
  return is_good;
}
bool text(CodedInputStream& in, std::string& out) {
  std::uint32_t length = 0;
  return in.ReadVarint32(&length) && length < (1u << 28) &&
         in.ReadString(&out, static_cast<int>(length));
}
void set(Node& node, std::string_view name, std::int64_t number, bool has_number,
         const std::string& words) {
  if (name == "pg_name" || name == "comm_group")
    node.group = has_number ? std::to_string(number) : words;
  if (!has_number) return;
  if (name == "comm_type")
    node.comm_type = number;
  else if (name == "comm_size")
    node.comm_size = number;
  else if (name == "comm_dst")
    node.destination = number;
  else if (name == "comm_src")
    node.source = number;
  else if (name == "comm_tag")
    node.tag = number;
  else if (name == "pg_size" || name == "group_size")
    node.group_size = number;
  else if (name == "num_ops")
    node.num_ops = number;
  else if (name == "runtime" && node.duration_us == 0)
    node.duration_us = std::clamp<std::int64_t>(number, 0, 1'000'000'000'000);
}
/// is_old: the attributes of mid 2023, whose field 2 is a type number and 4..8 the values.
bool attribute(CodedInputStream& in, Node& node, bool is_old) {
  std::string name, words;
  std::uint64_t value = 0;
  bool has_value = false;
  while (const std::uint32_t tag = in.ReadTag()) {
    const std::uint32_t field = tag >> 3, wire = tag & 7;
    if (field == 1 && wire == 2) {
      if (!text(in, name)) return false;
    } else if (wire == 2 && (is_old ? field == 8 : field == 29 || field == 31)) {
      if (!text(in, words)) return false;
    } else if (wire == 0) {
      std::uint64_t read = 0;
      if (!in.ReadVarint64(&read)) return false;
      if (is_old && field == 2) continue;
      value = !is_old && (field == 15 || field == 17) ? (read >> 1) ^ (~(read & 1) + 1)
                                                      : read;  // zigzag
      has_value = true;
    } else if (!is_old && ((wire == 1 && (field == 21 || field == 25)) ||
                           (wire == 5 && (field == 19 || field == 23)))) {
      std::uint32_t narrow = 0;
      if (wire == 1 ? !in.ReadLittleEndian64(&value) : !in.ReadLittleEndian32(&narrow))
        return false;
      if (wire == 5) value = narrow;
      has_value = true;
    } else if (!skip(in, tag)) {
      return false;
    }
  }
  set(node, name, static_cast<std::int64_t>(value), has_value, words);
  return true;
}
bool node_of(CodedInputStream& in, Node& node, Schema& schema) {
  while (const std::uint32_t tag = in.ReadTag()) {
    const std::uint32_t field = tag >> 3, wire = tag & 7;
    std::uint64_t value = 0;
    if (wire == 2 && schema.has_old_attributes && field >= 5 && field <= 10) {
      if (!skip(in, tag)) return false;                    // inputs and outputs as texts
    } else if ((field == 4 || field == 5) && wire == 2) {  // dependencies, packed
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
      if (!nested(in, [&] { return attribute(in, node, false); })) return false;
    } else if (field == 11 && wire == 2 && schema.has_old_attributes) {
      if (!nested(in, [&] { return attribute(in, node, true); })) return false;
    } else if (wire == 0) {
      if (!in.ReadVarint64(&value)) return false;
      const auto number =
          static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::uint64_t{1} << 62));
      switch (field) {
        case 1:
          node.id = value;
          break;
        case 3:
          node.type = value;
          break;
        case 4:
          node.deps.push_back(value);
          break;
        case 5:
          node.deps.push_back(value);
          break;
        case 7:
          node.duration_us = std::min<std::int64_t>(number, 1'000'000'000'000);
          break;
        // The first schemas kept communication in fields of the node itself.
        case 12:
          node.num_ops = number, schema.has_plain_fields = true;
          break;
        case 13:
          node.comm_type = number, schema.has_plain_fields = true;
          break;
        case 16:
          node.source = number, schema.has_plain_fields = true;
          break;
        case 17:
          node.destination = number, schema.has_plain_fields = true;
          break;
        case 18:
          node.comm_size = number, schema.has_plain_fields = true;
          break;
        case 19:
          node.tag = number, schema.has_plain_fields = true;
          break;
        default:
          break;
      }
    } else if (!skip(in, tag)) {
      return false;
    }
  }
  schema.has_type_7 = schema.has_type_7 || node.type == 7;
  schema.has_comm_field_at_6 = schema.has_comm_field_at_6 || (node.type == 6 && node.comm_type > 0);
  return true;
}
/// In the schemas before attributes, fields 5 and 7 mean tensor location and simulated run time;
/// types may count from COMP = 3.
void translate(std::vector<Node>& nodes, const Schema& schema) {
  if (schema.has_plain_fields) {
    const bool is_first_schema = !schema.has_type_7 && schema.has_comm_field_at_6;
    for (Node& n : nodes) {
      if (is_first_schema && n.type >= 1) ++n.type;
      // 1 all-reduce, 2 all-to-all, 3 all-gather, 4 reduce-scatter
      if (n.type == kCollective)
        n.comm_type = n.comm_type == 1   ? 0
                      : n.comm_type == 2 ? 6
                      : n.comm_type == 3 ? 2
                      : n.comm_type == 4 ? 7
                                         : -1;
    }
  } else if (schema.has_old_attributes) {
    for (Node& n :
         nodes)  // 0 all-reduce, 1 all-to-all, 2 all-gather, 3 reduce-scatter, 4 broadcast
      if (n.type == kCollective)
        n.comm_type = n.comm_type == 1   ? 6
                      : n.comm_type == 3 ? 7
                      : n.comm_type == 4 ? 5
                                         : n.comm_type;
  }
}
/// Mid 2023 kept attributes in field 11, where today storage details stand: an attribute begins
/// with its name.
bool has_old_attributes(const std::string& bytes) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  bool is_old = false;
  while (!is_old && in.CurrentPosition() < static_cast<int>(bytes.size())) {
    const bool is_good = nested(in, [&] {
      while (const std::uint32_t tag = in.ReadTag()) {
        const auto at = static_cast<std::size_t>(in.CurrentPosition());
        if (tag == ((11u << 3) | 2) && at + 2 < bytes.size()) {
          std::size_t payload = at;
          while (payload + 1 < bytes.size() &&
                 (static_cast<unsigned char>(bytes[payload]) & 0x80) != 0)
            ++payload;
          is_old = is_old || (payload + 1 < bytes.size() && bytes[payload + 1] == 0x0a);
        }
        if (!skip(in, tag)) return false;
      }
      return true;
    });
    if (!is_good) return is_old;
  }
  return is_old;
}
/// True when the first message holds the trace's metadata (a version text or attributes, or
/// nothing) and not a node.
bool is_metadata(const std::string& bytes) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<int>(std::min<std::size_t>(bytes.size(), 0x7fffffff)));
  std::uint32_t length = 0;
  if (!in.ReadVarint32(&length)) return true;
  if (length == 0) return true;
  const std::uint32_t tag = in.ReadTag();
  return tag != 0x08;  // nodes begin with their id; id 0 is left out by proto3, and then a metadata
                       // message stands in front
}
}  // namespace

std::uint64_t type_named(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  for (const auto& [word, type] : {std::pair{"COLL", kCollective},
                                   {"SEND", kSend},
                                   {"RECV", kReceive},
                                   {"LOAD", kLoad},
                                   {"STORE", kStore},
                                   {"METADATA", kMetadata},
                                   {"COMP", kCompute}})
    if (has(word)) return type;
  return 0;
}

std::vector<Node> nodes_in_protobuf(const std::string& path, Anomalies& anomalies) {
  const std::string bytes = read_all(path, kLimit - 1);
  const auto fail = [&](const std::string& message) {
    throw InputError(
        Problem{path, "", message, "give a Chakra execution trace (.et) in protobuf or JSON form"});
  };
  if (bytes.empty()) fail("is empty");
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  std::vector<Node> nodes;
  Schema schema;
  schema.has_old_attributes = has_old_attributes(bytes);
  const bool has_metadata = is_metadata(bytes);
  for (bool is_first = true; in.CurrentPosition() < static_cast<int>(bytes.size());
       is_first = false) {
    const int at = in.CurrentPosition();
    Node node;
    const bool is_good = nested(in, [&] {
      if (!is_first || !has_metadata) return node_of(in, node, schema);
      while (const std::uint32_t tag = in.ReadTag())  // GlobalMetadata: version and attributes
        if (!skip(in, tag)) return false;
      return true;
    });
    if (!is_good)
      fail(fmt::format("breaks off or is damaged at byte {} after {} nodes", at, nodes.size()));
    if (!is_first || !has_metadata) nodes.push_back(std::move(node));
  }
  if (nodes.empty()) fail("holds no node");
  translate(nodes, schema);
  if (schema.has_plain_fields || schema.has_old_attributes)
    anomalies.add("old_schema", Severity::info,
                  "a Chakra schema of 2022 or 2023: fields were translated to today's", path);
  return nodes;
}

bool sniff_protobuf(std::string_view head) {
  if (head.size() < 4) return false;
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(head.data()),
                      static_cast<int>(std::min<std::size_t>(head.size(), 1 << 20)));
  std::uint32_t length = 0;
  if (!in.ReadVarint32(&length)) return false;
  const auto is_node = [&](std::uint32_t size) {  // [id] name type
    std::uint32_t tag = in.ReadTag();
    std::uint64_t id = 0;
    if (tag == 0x08) {
      if (!in.ReadVarint64(&id)) return false;
      tag = in.ReadTag();
    }
    std::uint32_t inner = 0;
    std::string name;
    if (tag != 0x12 || !in.ReadVarint32(&inner) || inner > size || inner > 4096 ||
        !in.ReadString(&name, static_cast<int>(inner)))
      return false;
    return std::all_of(name.begin(), name.end(),
                       [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  };
  if (length == 0)
    return in.ReadVarint32(&length) && length > 4 &&
           is_node(length);  // empty metadata, then a node
  const int start = in.CurrentPosition();
  const std::uint32_t first = static_cast<unsigned char>(head[static_cast<std::size_t>(start)]);
  if (first == 0x08) return length > 4 && is_node(length);
  const std::uint32_t tag = in.ReadTag();
  if (tag != 0x0a && tag != 0x12) return false;
  std::uint32_t inner = 0;
  if (!in.ReadVarint32(&inner) || inner >= length) return false;
  std::string value;
  if (tag == 0x0a) {
    if (inner < 32 && in.ReadString(&value, static_cast<int>(inner)) &&
        value.find('.') != std::string::npos &&
        std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; }))
      return true;
    // Metadata of 2023: attributes in field 1, each beginning with its name.
    CodedInputStream again(reinterpret_cast<const std::uint8_t*>(head.data()) + start,
                           static_cast<int>(std::min<std::size_t>(head.size(), 1 << 20)) - start);
    std::uint32_t name_length = 0;
    return again.ReadTag() == 0x0a && again.ReadVarint32(&inner) && again.ReadTag() == 0x0a &&
           again.ReadVarint32(&name_length) && name_length < inner &&
           again.ReadString(&value, static_cast<int>(name_length)) &&
           std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  }
  return in.ReadTag() == 0x0a;  // an attribute begins with its name
}
}  // namespace stepcast::chakra
