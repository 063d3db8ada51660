#pragma once
#include <memory>
#include <string>

#include "runtime/backend/backend.hpp"
#include "runtime/launch/rank_place.hpp"

namespace stepcast::runtime {

/// The store of a run. Rank 0 serves it on place.port, everyone (rank 0 too) is a client.
///
/// It also watches: when a rank reports a failure, or its connection ends before it said goodbye
/// (killed, crashed, node lost), every other rank prints "rank 3 failed: <its message>" and ends
/// with exit code 3, whatever it is waiting for.
///
///   client -> server   u32 length, then: 'H' rank | 'S' key 0 value | 'G' key | 'F' message | 'W'
///   (watch) | 'B' (goodbye) server -> client   u32 length, then the value ('G'), or the failure's
///   text ('W'); nothing else
class TcpStore final : public Store {
 public:
  /// Blocks until connected; rank 0 also until it serves. Throws EnvironmentError: port in use,
  /// nobody answers within the limit.
  TcpStore(const RankPlace& place, Seconds time_limit);
  ~TcpStore() override;  // says goodbye; rank 0 keeps serving until all did, or the time limit
  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  std::string local_address() const override;

  /// Tells all ranks that this one fails; they end. The caller then ends with its own exit code.
  void report_failure(const std::string& message) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A store of this process alone: one rank, or ranks that are threads (tests).
std::unique_ptr<Store> new_local_store(Seconds time_limit);
/// A TCP port of this machine that nobody uses now.
int free_port();
}  // namespace stepcast::runtime
