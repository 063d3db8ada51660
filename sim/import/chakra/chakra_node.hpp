#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/import/common/anomalies.hpp"

namespace stepcast::chakra {
/// Node types of today's schema; older ones are translated while reading.
enum NodeType : std::uint64_t {
  kMetadata = 1,
  kLoad = 2,
  kStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7
};
struct Node {
  std::uint64_t id = 0, type = 0;
  std::string name;
  std::vector<std::uint64_t> deps;
  std::int64_t duration_us = 0, comm_type = -1, comm_size = 0, source = -1, destination = -1,
               tag = 0, group_size = 0, num_ops = 0;
  std::string group;
  std::int64_t peer() const { return type == kSend ? destination : source; }
};
/// One file's nodes, in file order, with comm_type in today's numbers. Throws InputError: empty,
/// broken off, damaged.
std::vector<Node> nodes_in_protobuf(const std::string& path, Anomalies& anomalies);
/// The same from JSON: objects one after another (the converter's text form), or one object with
/// "nodes".
std::vector<Node> nodes_in_json(const std::string& path, Anomalies& anomalies);
bool sniff_protobuf(std::string_view head);
bool sniff_json(std::string_view head);
/// "COMM_COLL_NODE" and the like -> type, 0 when unknown.
std::uint64_t type_named(std::string_view name);
}  // namespace stepcast::chakra
