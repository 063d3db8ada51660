#pragma once
#include <cstddef>
#include <functional>
#include <memory>

namespace stepcast::emulation {
/// A function with a stack of its own, entered and left by hand. Stacks are kept and used again.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next resume() enters `body` (kept by reference). What ran before is abandoned.
  void start(const std::function<void()>& body);
  /// From outside: goes on until the body yields or ends.
  void resume();
  /// From inside.
  void yield();
  bool is_done() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};
}  // namespace stepcast::emulation
