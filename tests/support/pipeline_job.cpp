#include "tests/support/pipeline_job.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/core/random.hpp"
#include "tests/support/job_builder.hpp"

namespace stepcast::tests {
namespace {

class PipelineJob {
 public:
  explicit PipelineJob(const PipelineShape& shape)
      : shape_(shape), nodes_(shape.stages * shape.replicas) {}

  Job build() {
    job_.seed = shape_.seed;
    job_.compute_slowdown_in_overlap = shape_.overlap_slowdown;
    add_links();
    place();
    for (int stage = 0; stage < shape_.stages; ++stage) job_.programs.push_back(program_of(stage));
    // Worker of (stage, replica): stage * replicas + replica.
    for (int stage = 0; stage < shape_.stages; ++stage) {
      for (int replica = 0; replica < shape_.replicas; ++replica) {
        const auto index = add_worker(job_, static_cast<std::uint32_t>(stage), stage, replica);
        Worker& worker = job_.workers[index];
        worker.node = node_of(stage, replica);
        worker.first_rank = 8 * static_cast<int>(index);
        worker.ranks = worker.jitter_ranks = 8;
        worker.jitter_sigma = shape_.jitter_sigma;
        worker.slowdown = 1 + shape_.straggler_sigma *
                                  std::abs(normal_from_bits(mixed_bits(
                                      shape_.seed, static_cast<std::uint64_t>(replica) + 77)));
      }
    }
    for (int stage = 0; stage < shape_.stages; ++stage) add_ring(stage);
    add_channels();
    return std::move(job_);
  }

 private:
  int leaves() const { return (nodes_ + shape_.nodes_per_leaf - 1) / shape_.nodes_per_leaf; }
  double uplinks() const { return std::max(1.0, shape_.nodes_per_leaf / shape_.oversubscription); }
  int spines() const { return shape_.is_adaptive ? 1 : static_cast<int>(uplinks()); }
  LinkId tx(int node) const { return static_cast<LinkId>(2 * node); }
  LinkId rx(int node) const { return static_cast<LinkId>(2 * node + 1); }
  LinkId up(int leaf, int spine) const {
    return static_cast<LinkId>(2 * nodes_ + 2 * (leaf * spines() + spine));
  }
  LinkId down(int leaf, int spine) const { return up(leaf, spine) + 1; }

  void add_links() {
    for (int i = 0; i < 2 * nodes_; ++i) add_link(job_, shape_.port_bytes_per_s);
    for (int i = 0; i < 2 * leaves() * spines(); ++i)
      add_link(job_, shape_.port_bytes_per_s * (shape_.is_adaptive ? uplinks() : 1));
    for (int node = 0; node < nodes_; ++node) job_.node_ports.push_back({tx(node), rx(node)});
  }
  void place() {
    node_.resize(static_cast<std::size_t>(nodes_));
    std::iota(node_.begin(), node_.end(), 0);
    if (!shape_.random_placement) return;
    for (std::size_t i = node_.size() - 1; i > 0; --i)
      std::swap(node_[i], node_[mixed_bits(shape_.seed, i) % (i + 1)]);
  }
  // Neighbouring replicas of a stage sit side by side when placement is contiguous.
  int node_of(int stage, int replica) const {
    return node_[static_cast<std::size_t>(stage * shape_.replicas + replica)];
  }

  std::vector<LinkId> route(int a, int b) const {
    std::vector<LinkId> links{tx(a)};
    const int from = a / shape_.nodes_per_leaf, to = b / shape_.nodes_per_leaf;
    if (from != to) {
      const auto key = static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(nodes_) +
                       static_cast<std::uint64_t>(b);
      const auto spine =
          static_cast<int>(mixed_bits(shape_.seed, key) % static_cast<std::uint64_t>(spines()));
      links.push_back(up(from, spine));
      links.push_back(down(to, spine));
    }
    links.push_back(rx(b));
    return links;
  }

  void add_ring(int stage) {
    if (shape_.replicas < 2) return;
    std::vector<std::uint32_t> workers;
    std::vector<std::vector<LinkId>> routes;
    for (int replica = 0; replica < shape_.replicas; ++replica) {
      workers.push_back(static_cast<std::uint32_t>(stage * shape_.replicas + replica));
      routes.push_back(
          route(node_of(stage, replica), node_of(stage, (replica + 1) % shape_.replicas)));
    }
    add_group(job_, workers, routes);
  }
  void add_channels() {
    for (int stage = 0; stage < shape_.stages; ++stage)
      for (int replica = 0; replica < shape_.replicas; ++replica)
        for (const int peer : {stage - 1, stage + 1}) {
          if (peer < 0 || peer >= shape_.stages) continue;
          const auto from = static_cast<std::uint32_t>(stage * shape_.replicas + replica);
          const auto to = static_cast<std::uint32_t>(peer * shape_.replicas + replica);
          job_.channels.push_back({from,
                                   to,
                                   {{route(node_of(stage, replica), node_of(peer, replica)), 1}},
                                   Seconds(shape_.latency_s)});
        }
    std::sort(job_.channels.begin(), job_.channels.end(), [](const Channel& a, const Channel& b) {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
  }

  // Half of the kernels' launches are issued before the segment's middle, half after: two host
  // bounds.
  Segment segment(double seconds, Category category) {
    Segment segment;
    segment.scaled = seconds;
    segment.host = shape_.host_share * seconds;
    segment.by_category[static_cast<std::size_t>(category)] = seconds;
    if (segment.host > 0)
      segment.bounds = {{0.5 * segment.host, 0.75 * seconds, 0}, {segment.host, 0.1 * seconds, 0}};
    return segment;
  }

  Program program_of(int stage) {
    ProgramBuilder program(job_.names);
    const auto micro_batches = static_cast<std::uint32_t>(shape_.micro_batches);
    const bool is_first = stage == 0, is_last = stage == shape_.stages - 1;
    std::uint32_t received = 0, computed = 0;
    // Tags: 2 m activations, 2 m + 1 gradients.
    const auto forward = [&](std::uint32_t m) {
      std::vector<Dependency> dependencies;
      if (!is_first) {
        program.receive(stage - 1, 2 * m);
        dependencies.push_back({Lane::recv, received++});
      }
      program.work("forward", segment(shape_.forward_s, Category::compute), dependencies)
          .micro_batch = static_cast<std::int32_t>(m);
      if (!is_last)
        program.send(stage + 1, 2 * m, shape_.activation_bytes, {{Lane::compute, computed}});
      ++computed;
    };
    const auto backward = [&](std::uint32_t m) {
      std::vector<Dependency> dependencies;
      if (!is_last) {
        program.receive(stage + 1, 2 * m + 1);
        dependencies.push_back({Lane::recv, received++});
      }
      const int pieces = m + 1 == micro_batches ? shape_.buckets : 1;
      for (int piece = 0; piece < pieces; ++piece) {
        program
            .work("backward", segment(shape_.backward_s / pieces, Category::compute), dependencies)
            .micro_batch = static_cast<std::int32_t>(m);
        dependencies.clear();
        if (m + 1 == micro_batches && shape_.replicas > 1) {
          const double n = shape_.replicas, bucket = shape_.gradient_bytes / pieces;
          program.collective(2 * (n - 1) / n * bucket, 2 * (n - 1) * shape_.latency_s,
                             {{Lane::compute, computed}});
        }
        ++computed;
      }
      if (!is_first)
        program.send(stage - 1, 2 * m + 1, shape_.activation_bytes,
                     {{Lane::compute, computed - 1}});
    };
    const auto warm_up =
        std::min(micro_batches, static_cast<std::uint32_t>(shape_.stages - 1 - stage));
    for (std::uint32_t m = 0; m < warm_up; ++m) forward(m);
    for (std::uint32_t m = warm_up; m < micro_batches; ++m) {
      forward(m);
      backward(m - warm_up);
    }
    for (std::uint32_t m = micro_batches - warm_up; m < micro_batches; ++m) backward(m);
    std::vector<Dependency> reduced;
    if (shape_.replicas > 1)
      reduced.push_back({Lane::gradient, static_cast<std::uint32_t>(shape_.buckets - 1)});
    program.work("optimizer", segment(shape_.optimizer_s, Category::optimizer), reduced).category =
        Category::optimizer;
    return std::move(program.program);
  }

  const PipelineShape& shape_;
  int nodes_;
  Job job_;
  std::vector<int> node_;
};
}  // namespace

Job pipeline_job(const PipelineShape& shape) { return PipelineJob(shape).build(); }
}  // namespace stepcast::tests
