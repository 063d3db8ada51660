#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/launch/socket.hpp"

namespace stepcast::runtime {
/// A worker's end of a parameter server. Not for several threads at once.
class ServerClient {
 public:
  /// `limit`: seconds that an answer may take; 0 = for ever.
  ServerClient(const Socket& server, int worker, Seconds limit)
      : server_(server), worker_(worker), limit_(limit) {}
  /// Parameters as they are now. False when the run is over. Throws EnvironmentError when the
  /// server is gone, does not answer within the limit, or holds another number of parameters.
  bool pull(std::span<float> parameters) { return exchange(-1, {}, parameters); }
  /// Hands over the gradient of its `step`-th step (from 0) and gets the parameters of the next.
  /// Otherwise as pull.
  bool push_pull(int step, std::span<const float> gradient, std::span<float> parameters) {
    return exchange(step, gradient, parameters);
  }

 private:
  bool exchange(int step, std::span<const float> gradient, std::span<float> parameters);
  const Socket& server_;
  int worker_;
  Seconds limit_;
  std::int64_t version_ = 0;
};
}  // namespace stepcast::runtime
