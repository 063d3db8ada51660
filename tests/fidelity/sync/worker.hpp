#pragma once
#include "runtime/launch/socket.hpp"
#include "tests/fidelity/sync/real_job.hpp"

namespace stepcast::real_sync {
/// Initial parameters, the same in every process.
std::vector<float> initial_parameters();
/// Does what the server asks for until it says "train", trains, and returns.
void work(const RealJob& job, int worker, const runtime::Socket& server);
/// The server's half of the measurement of the link.
void answer_link_test(const runtime::Socket& worker);
}  // namespace stepcast::real_sync
