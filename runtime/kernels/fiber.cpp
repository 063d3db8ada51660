#include "runtime/kernels/fiber.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
/// Saves the callee-saved registers of the System V ABI on this stack and goes on with the other
/// one. ucontext makes a system call per switch for the signal mask, which is 20 times slower.
extern "C" void stepcast_switch_stack(void** from, void* to);
asm(R"(
.text
.type stepcast_switch_stack,@function
stepcast_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size stepcast_switch_stack,.-stepcast_switch_stack
)");
#endif

namespace stepcast::emulation {
namespace {
constexpr std::size_t kStack =
    128 * 1024;  // deepest kernel keeps a few KiB of arrays; sanitizers add a red zone to each

}  // namespace

struct Fiber::State {
  void* stack = nullptr;
  const std::function<void()>* body = nullptr;
  bool is_done = true;
  std::exception_ptr failure;
#if defined(__x86_64__)
  void *inside = nullptr, *outside = nullptr;
#else
  ucontext_t inside{}, outside{};
#endif
  const void* outer_stack = nullptr;  // what the address sanitizer wants to know
  std::size_t outer_size = 0;
  void* fake_outer = nullptr;
  void* fake_inner = nullptr;

  void leave(bool is_last) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(is_last ? nullptr : &fake_inner, outer_stack, outer_size);
#else
    static_cast<void>(is_last);
#endif
#if defined(__x86_64__)
    stepcast_switch_stack(&inside, outside);
#else
    swapcontext(&inside, &outside);
#endif
    arrived_inside();
  }
  void arrived_inside() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_inner, &outer_stack, &outer_size);
#endif
  }
};

namespace {
thread_local Fiber::State* starting = nullptr;
[[noreturn]] void enter() {
  Fiber::State& state = *starting;
  state.fake_inner = nullptr;
  state.arrived_inside();
  try {
    (*state.body)();
  } catch (...) {
    state.failure = std::current_exception();
  }
  state.is_done = true;
  state.leave(true);
  std::terminate();  // a finished fiber is never resumed
}
}  // namespace

Fiber::Fiber() : state_(std::make_unique<State>()) {
  state_->stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (state_->stack == MAP_FAILED) throw std::runtime_error("no memory for a fiber's stack");
}
Fiber::~Fiber() { munmap(state_->stack, kStack); }

void Fiber::start(const std::function<void()>& body) {
  State& state = *state_;
  state.body = &body;
  state.is_done = false;
  state.failure = nullptr;
#if defined(__x86_64__)
  // As stepcast_switch_stack leaves a stack: six registers, then the address to return to, then 8
  // bytes so that the ABI's alignment at a function's entry (16 n + 8) holds.
  auto* top = reinterpret_cast<std::uintptr_t*>(static_cast<char*>(state.stack) + kStack);
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(&enter);
  for (int i = 0; i < 6; ++i) *--top = 0;
  state.inside = top;
#else
  getcontext(&state.inside);
  state.inside.uc_stack.ss_sp = state.stack;
  state.inside.uc_stack.ss_size = kStack;
  state.inside.uc_link = nullptr;
  makecontext(&state.inside, reinterpret_cast<void (*)()>(&enter), 0);
#endif
}
void Fiber::resume() {
  State& state = *state_;
  starting = &state;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&state.fake_outer, state.stack, kStack);
#endif
#if defined(__x86_64__)
  stepcast_switch_stack(&state.outside, state.inside);
#else
  swapcontext(&state.outside, &state.inside);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(state.fake_outer, nullptr, nullptr);
#endif
  if (state.failure) std::rethrow_exception(std::exchange(state.failure, nullptr));
}
void Fiber::yield() { state_->leave(false); }
bool Fiber::is_done() const { return state_->is_done; }
}  // namespace stepcast::emulation
