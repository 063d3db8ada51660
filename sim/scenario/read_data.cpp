#include "sim/scenario/read_data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/io/json.hpp"

namespace stepcast {
namespace {
constexpr double kGiga = 1e9, kMega = 1e6, kKiB = 1024, kGiB = 1073741824.0;
constexpr double kMostRate_GBps = 1e6;

/// A decoded JPEG pixel is three bytes; ImageNet's training files are 110 kB on average (138 GB of
/// 1.28 million files, ILSVRC 2012).
constexpr double kJpegBytes = 110'000;

/// Core time of unpacking, by format, seconds per byte as stored.
double unpack_s_per_byte(DataFormat format) {
  switch (format) {
    case DataFormat::files:
    case DataFormat::raw:
      return 0;
    // Two passes over memory, checksum and copy, at an assumed 4 GB/s each: every record carries
    // a CRC-32C of its data that the reader checks (TensorFlow documentation, "TFRecord and
    // tf.train.Example").
    case DataFormat::tfrecord:
      return 2 / (4 * kGiga);
    // Snappy, Parquet's usual codec, unpacks 500 MB/s or more on one core (README of
    // google/snappy).
    case DataFormat::parquet:
      return 1 / (500 * kMega);
  }
  return 0;
}

/// Core time of decoding, by content.
DecodeSpec decode_of(DataContent content) {
  switch (content) {
    case DataContent::plain:
      return {};
    // One pass from 2- or 4-byte numbers to the framework's 8-byte ones at an assumed 1 GB/s.
    case DataContent::tokens:
      return {.s_per_sample = 0, .s_per_byte = 1 / kGiga};
    // Pillow decodes 577 images of ImageNet's validation set per second on one core of a Xeon
    // 8581C (Iglovikov and Kosarevsky, arXiv:2605.08731, table of single-thread decode
    // throughput; 537 to 726 on AMD EPYC 9B14 and 9B45). Crops, resizes and normalisation come on
    // top and are the pipeline's own.
    case DataContent::jpeg:
      return {.s_per_sample = 1.0 / 577, .s_per_byte = 0};
  }
  return {};
}

double rate_of(ObjectReader& r, const char* key, double unit, double most) {
  return r.optional_number(key, {.min = 1e-6, .max = most}).value_or(0) * unit;
}

StorageSpec read_storage(ObjectReader r) {
  StorageSpec s;
  s.preset = r.text("preset", "");
  s.kind = r.one_of<StorageKind>("kind");
  s.node_rate = rate_of(r, "node_GBps", kGiga, kMostRate_GBps);
  s.stream_rate = rate_of(r, "stream_GBps", kGiga, kMostRate_GBps);
  s.shared_rate = rate_of(r, "shared_GBps", kGiga, kMostRate_GBps);
  s.latency_s = r.number("latency_us", {.fallback = 0, .max = 6e7}) * 1e-6;
  s.latency_sigma = r.number("latency_sigma", {.fallback = 0, .max = 2});
  s.node_requests_per_s = rate_of(r, "node_requests_per_s", 1, 1e12);
  s.shared_requests_per_s = rate_of(r, "shared_requests_per_s", 1, 1e12);
  s.node_in_flight =
      static_cast<int>(r.integer("node_in_flight", {.fallback = 0, .min = 0, .max = 1 << 20}));
  s.request_bytes = r.number("request_KiB", {.fallback = 1024, .min = 0.5, .max = 1 << 24}) * kKiB;
  s.requests_per_open = r.number("requests_per_open", {.fallback = 0, .max = 1000});
  if (s.node_rate == 0 && s.stream_rate == 0 && s.shared_rate == 0 && s.latency_s == 0)
    r.problem("", "states no limit", "give node_GBps or latency_us, or a preset");
  if (s.latency_sigma > 0 && s.latency_s == 0)
    r.problem("latency_sigma", "has no effect: latency_us is 0");
  if (s.kind == StorageKind::nvme)
    for (const char* key : {"shared_GBps", "shared_requests_per_s"})
      if (r.has(key))
        r.problem(key, "does not fit kind nvme: every node has its own disks",
                  "use node_GBps, or another kind");
  r.done();
  return s;
}

DataContent usual_content(const ModelSpec& model) {
  switch (model.kind) {
    case ModelKind::transformer:
    case ModelKind::moe:
      return DataContent::tokens;
    case ModelKind::cnn:
      return DataContent::jpeg;
    case ModelKind::dlrm:
    case ModelKind::custom:
      return DataContent::plain;
  }
  return DataContent::plain;
}

/// Stored and decoded size of a sample, where model and content give it; 0 where they do not.
struct SampleSize {
  double stored = 0, decoded = 0;
};
SampleSize usual_size(const DataContext& c, DataContent content) {
  if (content == DataContent::jpeg)
    // Pixels of three 8-bit channels.
    return {kJpegBytes, c.model.kind == ModelKind::cnn
                            ? 3.0 * static_cast<double>(c.model.cnn.image) *
                                  static_cast<double>(c.model.cnn.image)
                            : 0};
  if (content == DataContent::tokens &&
      (c.model.kind == ModelKind::transformer || c.model.kind == ModelKind::moe)) {
    // Token numbers in 2 bytes where the vocabulary allows it (Megatron-LM's indexed dataset), and
    // in 8 in the framework's tensor.
    const double token = c.model.transformer.vocab < 65500 ? 2 : 4;
    const auto tokens = static_cast<double>(c.training.sequence_length);
    return {token * tokens, 8 * tokens};
  }
  if (c.model.kind == ModelKind::dlrm) {
    // Four bytes for the label, each number and each index.
    const double bytes = 4 * (1 + static_cast<double>(c.model.dlrm.dense_features) +
                              static_cast<double>(c.model.dlrm.tables) * c.model.dlrm.pooling);
    return {bytes, bytes};
  }
  return {};
}

void read_sample(ObjectReader& r, const DataContext& c, DataSpec& d) {
  d.content = r.one_of<DataContent>("content", usual_content(c.model));
  d.format = r.one_of<DataFormat>(
      "format", d.content == DataContent::jpeg ? DataFormat::files : DataFormat::raw);
  const SampleSize usual = usual_size(c, d.content);
  const auto size = [&](const char* key, double fallback) {
    NumberField field{.min = 1, .max = 1e12};
    if (fallback > 0) field.fallback = fallback;
    return r.number(key, field);
  };
  d.sample_bytes = size("sample_B", usual.stored);
  d.decoded_bytes = size("decoded_B", usual.decoded > 0 ? usual.decoded : d.sample_bytes);
  const bool has_own_files = d.format == DataFormat::files;
  r.raw("samples_per_file");
  if (has_own_files && r.has("samples_per_file"))
    r.problem("samples_per_file", "has no effect with format files: every sample is one file",
              "use raw, tfrecord or parquet");
  // A shard of 1 GB unless told otherwise, where only its opening counts.
  d.samples_per_file =
      has_own_files
          ? 1
          : r.number("samples_per_file",
                     {.fallback = std::max(1.0, 1e9 / d.sample_bytes), .min = 1, .max = 1e12});
  d.read_amplification = r.number("read_amplification", {.fallback = 1, .min = 1, .max = 1e6});
  d.decode = decode_of(d.content);
  d.decode.s_per_byte += unpack_s_per_byte(d.format);
  if (auto decode = r.object("decode")) {
    d.decode.s_per_sample =
        decode->number("ms_per_sample", {.fallback = d.decode.s_per_sample * 1e3, .max = 1e7}) *
        1e-3;
    d.decode.s_per_byte =
        decode->number("ns_per_byte", {.fallback = d.decode.s_per_byte * 1e9, .max = 1e9}) * 1e-9;
    decode->done();
  }
}

void read_workers(ObjectReader& r, const DataContext& c, DataSpec& d,
                  std::vector<std::string>& notes) {
  // Two as Megatron-LM's --num-workers; PyTorch's own default is 0.
  d.workers = static_cast<int>(r.integer("workers", {.fallback = 2, .min = 0, .max = 1024}));
  d.in_flight = static_cast<int>(r.integer("in_flight", {.fallback = 1, .min = 1, .max = 65536}));
  if (d.workers == 0 && r.has("prefetch"))
    r.problem("prefetch", "has no effect without workers: batches are read when asked for",
              "set workers");
  // PyTorch's prefetch_factor: two batches per worker.
  d.prefetch = static_cast<int>(r.integer(
      "prefetch", {.fallback = 2 * d.workers, .min = d.workers > 0 ? 1 : 0, .max = 4096}));
  // The fewest that a maker of 8-GPU training nodes gives: 96 virtual cores of p4d.24xlarge are 48
  // cores, 6 per GPU; DGX H100 has 14.
  constexpr int kCoresPerGpu = 6;
  d.cores = static_cast<int>(
      r.integer("cores", {.fallback = kCoresPerGpu * c.gpus_per_node, .min = 1, .max = 65536}));
  if (!r.has("cores") && !r.has("loader_nodes"))
    notes.push_back(
        fmt::format("data.cores = {} was not given: {} per GPU of a node", d.cores, kCoresPerGpu));
}

void read_order(ObjectReader& r, DataSpec& d) {
  d.shuffle = r.one_of<Shuffle>("shuffle", d.shuffle);
  const bool has_buffer = d.shuffle == Shuffle::buffer;
  if (!has_buffer && r.has("shuffle_buffer"))
    r.problem("shuffle_buffer", "has no effect with shuffle " + std::string(text_of(d.shuffle)),
              "buffer uses it");
  d.shuffle_buffer =
      r.number("shuffle_buffer", {.fallback = has_buffer ? 10000.0 : 0.0, .max = 1e12});
}

void read_cache(ObjectReader& r, DataSpec& d) {
  d.epoch = static_cast<int>(r.integer("epoch", {.fallback = 1, .min = 1, .max = 1'000'000}));
  auto cache = r.object("cache");
  if (!cache) {
    for (const char* key : {"dataset_samples", "sharding"})
      if (r.has(key)) r.problem(key, "has no effect without a cache", "give cache with GiB");
    r.raw("dataset_samples");
    r.raw("sharding");
    if (d.epoch > 1)
      r.problem("epoch", "has no effect without a cache: every epoch reads all from storage",
                "give cache with GiB");
    return;
  }
  d.dataset_samples = r.number("dataset_samples", {.min = 1, .max = 1e15});
  d.sharding = r.one_of<EpochSharding>("sharding", d.sharding);
  d.cache.bytes = cache->number("GiB", {.min = 1e-6, .max = 1e9}) * kGiB;
  d.cache.policy = cache->one_of<CachePolicy>("policy", d.cache.policy);
  d.cache.rate = rate_of(*cache, "GBps", kGiga, kMostRate_GBps);
  cache->done();
}

void read_loader_nodes(ObjectReader& r, DataSpec& d) {
  auto nodes = r.object("loader_nodes");
  if (!nodes) return;
  if (r.has("cores"))
    r.problem("cores", "has no effect beside loader_nodes, whose cores do the work",
              "set loader_nodes/cores");
  d.loader_nodes.count = static_cast<int>(nodes->integer("count", {.min = 1, .max = 1 << 20}));
  d.loader_nodes.cores = static_cast<int>(nodes->integer("cores", {.min = 1, .max = 65536}));
  d.loader_nodes.nic_rate = nodes->number("nic_Gbps", {.min = 1e-3, .max = 1e6}) * kGiga / 8;
  if (d.workers == 0)
    r.problem("workers", "is 0: loader nodes work ahead of the training", "set workers");
  nodes->done();
}
}  // namespace

DataSpec read_data(ObjectReader r, const DataContext& context, std::vector<std::string>& notes) {
  DataSpec d;
  const Json* written = r.raw("storage");
  if (auto storage = r.object("storage"); storage && written->is_object())
    d.storage = read_storage(*storage);
  else if (written == nullptr)
    r.problem("storage", "is missing; where samples lie is expected",
              "for example { \"preset\": \"nvme-local\" }");
  read_sample(r, context, d);
  read_workers(r, context, d, notes);
  read_order(r, d);
  read_cache(r, d);
  read_loader_nodes(r, d);
  r.done();
  return d;
}
}  // namespace stepcast
