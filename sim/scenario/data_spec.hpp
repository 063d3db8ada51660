#pragma once
#include <cstdint>
#include <string>

#include "sim/core/enum_text.hpp"

/// How samples get from storage to a rank, as a scenario states it. How it unfolds in time:
/// sim/data.
namespace stepcast {

/// Where samples lie. nvme: disks of the node itself, nothing is shared. nfs: one server.
/// parallel-fs: many servers behind one name (Lustre, GPFS). object-store: HTTP requests.
enum class StorageKind { nvme, nfs, parallel_fs, object_store };
template <>
struct EnumText<StorageKind> {
  static constexpr std::array<std::pair<StorageKind, std::string_view>, 4> table{
      {{StorageKind::nvme, "nvme"},
       {StorageKind::nfs, "nfs"},
       {StorageKind::parallel_fs, "parallel-fs"},
       {StorageKind::object_store, "object-store"}}};
};
/// What samples are packed in: one file each, raw bytes one after another, TFRecord, Parquet.
enum class DataFormat { files, raw, tfrecord, parquet };
template <>
struct EnumText<DataFormat> {
  static constexpr std::array<std::pair<DataFormat, std::string_view>, 4> table{
      {{DataFormat::files, "files"},
       {DataFormat::raw, "raw"},
       {DataFormat::tfrecord, "tfrecord"},
       {DataFormat::parquet, "parquet"}}};
};
/// What a sample is, beside its packing.
enum class DataContent { plain, tokens, jpeg };
template <>
struct EnumText<DataContent> {
  static constexpr std::array<std::pair<DataContent, std::string_view>, 3> table{
      {{DataContent::plain, "plain"},
       {DataContent::tokens, "tokens"},
       {DataContent::jpeg, "jpeg"}}};
};
/// none: files front to back. buffer: the same, samples drawn from a buffer in memory. random:
/// every sample is read from its own place.
enum class Shuffle { none, buffer, random };
template <>
struct EnumText<Shuffle> {
  static constexpr std::array<std::pair<Shuffle, std::string_view>, 3> table{
      {{Shuffle::none, "none"}, {Shuffle::buffer, "buffer"}, {Shuffle::random, "random"}}};
};
/// What stays in a full cache. lru: what was read last (a page cache). pinned: what came first,
/// nothing is ever replaced (MinIO of Mohan et al., VLDB 2021).
enum class CachePolicy { lru, pinned };
template <>
struct EnumText<CachePolicy> {
  static constexpr std::array<std::pair<CachePolicy, std::string_view>, 2> table{
      {{CachePolicy::lru, "lru"}, {CachePolicy::pinned, "pinned"}}};
};
/// Which samples a node reads in the next epoch: any (DistributedSampler reshuffles all) or those
/// of the last one again (files dealt to nodes once).
enum class EpochSharding { reshuffled, fixed };
template <>
struct EnumText<EpochSharding> {
  static constexpr std::array<std::pair<EpochSharding, std::string_view>, 2> table{
      {{EpochSharding::reshuffled, "reshuffled"}, {EpochSharding::fixed, "fixed"}}};
};

/// 0 stands for "no such limit" throughout.
struct StorageSpec {
  std::string preset;
  StorageKind kind = StorageKind::nvme;
  double node_rate = 0;      // bytes/s that one node reads at most
  double stream_rate = 0;    // bytes/s that one request reaches at most
  double shared_rate = 0;    // bytes/s of the whole store
  double latency_s = 0;      // of one request until its first byte
  double latency_sigma = 0;  // lognormal spread of a request's latency, mean latency_s
  double node_requests_per_s = 0, shared_requests_per_s = 0;
  int node_in_flight = 0;        // requests of one node under way at once
  double request_bytes = 0;      // largest request; sequential reads are cut into these
  double requests_per_open = 0;  // requests that opening a file costs beside its reads
};
struct DecodeSpec {
  double s_per_sample = 0, s_per_byte = 0;  // of one core
};
/// A node's memory or disk that keeps what was read before.
struct DataCacheSpec {
  double bytes = 0;  // 0: none
  CachePolicy policy = CachePolicy::lru;
  double rate = 0;  // bytes/s of one node
};
/// Machines that read and decode for the training nodes and send them finished batches.
struct LoaderNodesSpec {
  int count = 0;  // 0: training nodes load for themselves
  int cores = 0;
  double nic_rate = 0;  // bytes/s of one of them
};

struct DataSpec {
  StorageSpec storage;
  DataFormat format = DataFormat::raw;
  DataContent content = DataContent::plain;
  double sample_bytes = 0;   // as stored
  double decoded_bytes = 0;  // as handed to the training process
  double samples_per_file = 1;
  double read_amplification = 1;  // bytes read over bytes used (Parquet row groups, blocks)
  DecodeSpec decode;
  int workers = 2;    // of each loader process; 0: the training process reads for itself
  int in_flight = 1;  // requests that one worker has under way
  int prefetch = 0;   // batches of a loader process in work or waiting; 0 only without workers
  int cores = 0;      // of a node, for its loader processes
  Shuffle shuffle = Shuffle::random;
  double shuffle_buffer = 0;  // samples
  double dataset_samples = 0;
  int epoch = 1;  // the one that is simulated, counted from 1
  EpochSharding sharding = EpochSharding::reshuffled;
  DataCacheSpec cache;
  LoaderNodesSpec loader_nodes;
};
}  // namespace stepcast
