#pragma once

namespace stepcast::runtime {
/// Who goes first where threads compete for a core. Without the middle level nothing overlaps: a
/// comm thread of compute's rank waits for its 100 ms slice. Without the upper one calls hang under
/// real-time priority: Gloo's I/O thread polls again at once while a caller holds its lock, so it
/// must never outrank the caller.
enum class ThreadLevel : int { compute = 0, network_io = 1, network_caller = 2 };
/// For the calling thread, and the threads that it starts. Under SCHED_RR: priority 1 + level.
/// Otherwise nice -5 for the upper two, where the system lets us.
void set_thread_level(ThreadLevel level) noexcept;
/// Raises the calling thread to a caller of the network for its life; matters under real-time
/// priority only.
class NetworkCall {
 public:
  NetworkCall() noexcept;
  ~NetworkCall();
  NetworkCall(const NetworkCall&) = delete;
  NetworkCall& operator=(const NetworkCall&) = delete;

 private:
  int policy_, priority_;
};
}  // namespace stepcast::runtime
