#include "runtime/sync/server_client.hpp"

#include <fmt/format.h>

#include "runtime/sync/server_message.hpp"
#include "sim/core/result.hpp"

namespace stepcast::runtime {
bool ServerClient::exchange(int step, std::span<const float> gradient,
                            std::span<float> parameters) {
  bool is_late = false;
  std::optional<std::string> answer;
  if (server_.send(pack({worker_, step, version_}, gradient)))
    answer = server_.receive(limit_, &is_late);
  if (!answer)
    throw EnvironmentError(
        is_late ? fmt::format("worker {}: the parameter server does not answer within {:g} s",
                              worker_, limit_.value)
                : fmt::format("worker {}: the parameter server is gone", worker_));
  if (answer->size() != message_bytes(parameters.size()))
    throw EnvironmentError(
        fmt::format("worker {}: the parameter server answered {} bytes where {} parameters are "
                    "trained",
                    worker_, answer->size(), parameters.size()));
  const ServerMessage header = header_of(*answer);
  std::memcpy(parameters.data(), answer->data() + sizeof header, parameters.size_bytes());
  version_ = header.version;
  return header.step == 0;
}
}  // namespace stepcast::runtime
