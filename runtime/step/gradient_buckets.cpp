#include "runtime/step/gradient_buckets.hpp"

#include "sim/timeline/op_names.hpp"

namespace stepcast::runtime {

std::vector<Bucket> bucket_ranges(const std::vector<std::int64_t>& ready, std::int64_t elements,
                                  std::int64_t element_bytes, const BucketPolicy& policy,
                                  std::int64_t granularity) {
  std::vector<Bucket> buckets;
  std::int64_t end = elements;
  for (const std::int64_t offset : ready) {
    const std::int64_t begin =
        offset == 0 ? 0 : (offset + granularity - 1) / granularity * granularity;
    const Bytes limit =
        buckets.empty() && policy.first_bucket.value > 0 ? policy.first_bucket : policy.bucket;
    const bool is_full = limit.value > 0 && (end - begin) * element_bytes >= limit.value;
    if ((!is_full && offset != 0) || begin >= end) continue;
    buckets.push_back({begin, end});
    end = begin;
  }
  return buckets;
}

GradientBuckets::GradientBuckets(Device& device, Stream& compute, Communicator& data_parallel,
                                 Parameters& parameters, const BucketPolicy& policy,
                                 std::vector<std::int64_t> ready_offsets)
    : device_(device),
      compute_(compute),
      group_(data_parallel),
      parameters_(parameters),
      policy_(policy) {
  BucketPolicy rule = policy;
  if (!policy.overlaps)
    rule.bucket = rule.first_bucket = Bytes(0);  // nothing is gained by leaving in parts
  buckets_ = bucket_ranges(ready_offsets, parameters.elements(), 4, rule,
                           granularity(data_parallel.size()));
  stream_ = device.new_stream("gradient", StreamPriority::high);
  for (std::size_t i = 0; i < buckets_.size(); ++i) ready_.push_back(device.new_event());
  done_ = device.new_event();
  if (!policy.compressor || data_parallel.size() == 1) return;
  for (const Bucket& bucket : buckets_)
    compressors_.push_back(new_compressor(*policy.compressor, device, bucket.end - bucket.begin,
                                          data_parallel.size()));
}

void GradientBuckets::ready_from(std::int64_t offset) {
  if (group_.size() == 1 || !policy_.overlaps) return;
  for (; next_ < buckets_.size() && buckets_[next_].begin >= offset; ++next_)
    reduce(buckets_[next_]);
}

void GradientBuckets::reduce(const Bucket& bucket) {
  const auto index = static_cast<std::size_t>(&bucket - buckets_.data());
  if (!compressors_.empty()) return reduce_compressed(index);
  make_wait(*stream_, compute_, *ready_[index]);
  const OpScope scope(device_.recorder(), op::grad_reduce, Category::exposed_dp);
  const View range = parameters_.gradients(bucket.begin);
  if (policy_.shards) {
    const std::int64_t part = bucket.part(group_.size());
    group_.reduce_scatter(*stream_, range, range.at(group_.rank() * part), ElementCount{part});
  } else {
    group_.all_reduce(*stream_, range, ElementCount{bucket.end - bucket.begin});
  }
}

void GradientBuckets::reduce_compressed(std::size_t index) {
  Compressor& compressor = *compressors_[index];
  const View range = parameters_.gradients(buckets_[index].begin);
  for (int round = 0; round < compressor.rounds(); ++round) {
    const bool is_first = round == 0, is_last = round + 1 == compressor.rounds();
    Message message;
    {
      const OpScope scope(device_.recorder(), op::encode, Category::compression);
      message = compressor.encode(is_first ? compute_ : *stream_, round, range);
    }
    if (is_first) make_wait(*stream_, compute_, *ready_[index]);
    {
      const OpScope scope(device_.recorder(), op::grad_reduce, Category::exposed_dp);
      exchange(group_, *stream_, message);
    }
    // Between two rounds it prepares the next message: part of encoding.
    const OpScope scope(device_.recorder(), is_last ? op::decode : op::encode,
                        Category::compression);
    compressor.decode(*stream_, round, range);
  }
}

void GradientBuckets::wait_for_gradients() {
  if (group_.size() == 1) return;
  for (; next_ < buckets_.size(); ++next_) reduce(buckets_[next_]);
  make_wait(compute_, *stream_, *done_);
}
}  // namespace stepcast::runtime
