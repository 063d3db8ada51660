#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "runtime/compress/compressor.hpp"
#include "runtime/layers/layer_context.hpp"
#include "runtime/model/parameters.hpp"

namespace stepcast::runtime {

struct BucketPolicy {
  Bytes bucket{25 << 20};  // 0: one bucket for everything
  Bytes first_bucket{0};   // 0: as the others
  bool overlaps = true;    // buckets leave while backward runs; else when it is over
  bool shards = false;     // ZeRO-1: each rank gets the sum of its part only
  std::optional<CompressorChoice> compressor;  // of what travels; not beside shards
};

/// A range [begin, end) of the gradient arena that is reduced in one call. Under ZeRO-1 rank r owns
/// part r of dp equal ones.
struct Bucket {
  std::int64_t begin = 0, end = 0;
  std::int64_t part(int ranks) const { return (end - begin) / ranks; }
};

/// The rule by itself: `ready` offsets fall from `elements` to 0; a bucket closes at the first that
/// makes it as large as the limit, as the simulator's gradient_buckets does. Boundaries are
/// multiples of `granularity`, what is left joins the next bucket. Pure.
std::vector<Bucket> bucket_ranges(const std::vector<std::int64_t>& ready, std::int64_t elements,
                                  std::int64_t element_bytes, const BucketPolicy& policy,
                                  std::int64_t granularity);

/// Reduces gradients over data-parallel ranks on a stream of its own, bucket by bucket as the
/// backward completes them.
///
///   compute  [ backward: head ][ block n ][ block n-1 ] ...           [ grad_norm ..
///   gradient                   |-- bucket 0 --|-- bucket 1 --| ...    ^ compute waits for the last
///   bucket
///
/// With a compressor a bucket is encoded on the compute stream, between two pieces of the backward
/// (where a communication hook of PyTorch's DDP runs), travels, and is decoded on the gradient
/// stream.
class GradientBuckets final : public GradientSink {
 public:
  GradientBuckets(Device& device, Stream& compute, Communicator& data_parallel,
                  Parameters& parameters, const BucketPolicy& policy,
                  std::vector<std::int64_t> ready_offsets);

  /// Before the last backward of a step.
  void begin() { next_ = 0; }
  void ready_from(std::int64_t offset) override;
  /// Everything that has not left yet leaves; then the compute stream waits for all of it.
  void wait_for_gradients();

  const std::vector<Bucket>& buckets() const { return buckets_; }
  static std::int64_t granularity(int ranks) {
    return std::int64_t{16} * ranks;
  }  // 64 bytes per shard: aligned for vectors

 private:
  void reduce(const Bucket& bucket);
  void reduce_compressed(std::size_t index);

  Device& device_;
  Stream& compute_;
  Communicator& group_;
  Parameters& parameters_;
  BucketPolicy policy_;
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Event>>
      ready_;  // one per bucket: an event must not be recorded again while another stream may wait
  std::unique_ptr<Event> done_;
  std::vector<std::unique_ptr<Compressor>> compressors_;  // one per bucket: each keeps a residual
};
}  // namespace stepcast::runtime
