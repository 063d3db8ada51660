#pragma once
#include <barrier>
#include <cstring>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/compress/number_formats.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
/// Communicators of one group whose members are threads on host memory.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size) : barrier_(size), views_(static_cast<std::size_t>(size)) {}
  class Member final : public Communicator {
   public:
    Member(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(group_.views_.size()); }
    void all_reduce(Stream&, View data, ElementCount count, Reduction) override {
      publish(data);
      std::vector<float> sum(static_cast<std::size_t>(count.value));
      for (const View& view : group_.views_)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += element(view, i);
      barrier();
      for (std::size_t i = 0; i < sum.size(); ++i) {
        if (data.precision == Precision::fp32)
          data.as<float>()[i] = sum[i];
        else if (data.precision == Precision::fp16)
          data.as<std::uint16_t>()[i] = fp16_of(sum[i]);
        else
          data.as<std::uint16_t>()[i] = bf16_of(sum[i]);
      }
      barrier();
    }
    void all_gather(Stream&, View input, View output, ElementCount count) override {
      publish(input);
      for (std::size_t from = 0; from < group_.views_.size(); ++from)
        std::memcpy(output.at(static_cast<std::int64_t>(from) * count.value).data,
                    group_.views_[from].data,
                    static_cast<std::size_t>(count.value * bytes_per_element(input.precision)));
      barrier();
    }
    void reduce_scatter(Stream&, View, View, ElementCount) override { unused(); }
    void broadcast(Stream&, View, ElementCount, int) override { unused(); }
    void all_to_all(Stream&, View, View, ElementCount) override { unused(); }
    void send(Stream&, View, ElementCount, int) override { unused(); }
    void receive(Stream&, View, ElementCount, int) override { unused(); }
    void barrier() override { group_.barrier_.arrive_and_wait(); }

   private:
    static void unused() {
      STEPCAST_ASSERT(false, "compressors use all_reduce and all_gather only");
    }
    static float element(const View& view, std::size_t i) {
      if (view.precision == Precision::fp32) return view.as<float>()[i];
      return view.precision == Precision::fp16 ? float_of_fp16(view.as<std::uint16_t>()[i])
                                               : float_of_bf16(view.as<std::uint16_t>()[i]);
    }
    void publish(View view) {
      group_.views_[static_cast<std::size_t>(rank_)] = view;
      barrier();
    }
    ThreadGroup& group_;
    int rank_;
  };

 private:
  std::barrier<> barrier_;
  std::vector<View> views_;
};
}  // namespace stepcast::runtime
