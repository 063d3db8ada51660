#include "sim/io/unfinished_file.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

namespace stepcast {
namespace {
// A handler may neither allocate nor lock: names lie in fixed places that are taken and left
// atomically. A name that finds no place, or is longer than one, is written as ever; only a signal
// leaves it behind.
constexpr std::size_t kSlots = 16, kLongestName = 4096;
enum State : int { empty, filling, unfinished };
struct Slot {
  std::atomic<int> state{empty};
  std::array<char, kLongestName> name{};
};
std::array<Slot, kSlots> slots;

void remove_and_end(int signal_number) {
  for (const Slot& slot : slots)
    if (slot.state.load() == unfinished) unlink(slot.name.data());
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}
}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& temporary) : slot_(kSlots) {
  if (temporary.size() >= kLongestName) return;
  for (std::size_t i = 0; i < kSlots; ++i) {
    int expected = empty;
    if (!slots[i].state.compare_exchange_strong(expected, filling)) continue;
    std::memcpy(slots[i].name.data(), temporary.c_str(), temporary.size() + 1);
    slots[i].state.store(unfinished);
    slot_ = i;
    return;
  }
}
UnfinishedFile::~UnfinishedFile() {
  if (slot_ < kSlots) slots[slot_].state.store(empty);
}

void remove_unfinished_on_signals() {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal_number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) std::signal(signal_number, remove_and_end);  // nohup stays so
  }
}
}  // namespace stepcast
