#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.hpp"
#include "sim/core/units.hpp"

namespace stepcast::runtime {

/// Elements as a reduction counts them. A count is never a byte count: handing sizeof to a count
/// reduces a few elements silently.
struct ElementCount {
  std::int64_t value = 0;
};
enum class Reduction : std::uint8_t { sum, max };

/// One process group. Every call is enqueued on a stream and returns at once; the work runs in the
/// stream's order, and every member must enqueue the same calls in the same order. One communicator
/// serves one stream at a time. A peer that dies, or that does not answer within the time limit,
/// surfaces as EnvironmentError naming the rank from the stream's synchronise() or the event's
/// wait(); no call hangs.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void all_reduce(Stream&, View data, ElementCount count,
                          Reduction = Reduction::sum) = 0;  // in place
  /// `output` holds size() parts of `count`; part r comes from rank r. In place where input =
  /// output + rank * count.
  virtual void all_gather(Stream&, View input, View output, ElementCount count) = 0;
  /// `input` holds size() parts of `count`; rank r gets the sum of part r. In place where output =
  /// input + rank * count. The contents of `input` are undefined afterwards.
  virtual void reduce_scatter(Stream&, View input, View output, ElementCount count) = 0;
  virtual void broadcast(Stream&, View data, ElementCount count, int root) = 0;
  /// Part r of `input` (size() parts of `count`) goes to rank r.
  virtual void all_to_all(Stream&, View input, View output, ElementCount count) = 0;
  virtual void send(Stream&, View data, ElementCount count, int to) = 0;
  virtual void receive(Stream&, View data, ElementCount count, int from) = 0;
  /// Blocks the host until every member called it.
  virtual void barrier() = 0;
};
}  // namespace stepcast::runtime
