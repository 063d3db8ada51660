#include "runtime/launch/tcp_store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/launch/store_server.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {

struct TcpStore::Impl {
  RankPlace place;
  Seconds limit;
  std::optional<StoreServer> server;
  Socket talk, watch;
  std::mutex mutex;
  std::atomic<bool> is_leaving{false};
  std::thread watcher;

  void watch_others() {
    const auto text = watch.receive(Seconds(0));
    if (is_leaving) return;
    const std::string message = text ? *text : "rank 0 failed: its store is gone";
    // The rank that failed prints its own message and picks its own exit code.
    if (text && text->starts_with(fmt::format("rank {} failed", place.rank))) return;
    fmt::print(stderr, "rank {}: {}\n", place.rank, message);
    std::fflush(nullptr);
    _exit(
        3);  // other threads may be inside a collective that never ends; nothing may wait for them
  }
};

TcpStore::TcpStore(const RankPlace& place, Seconds time_limit) : impl_(std::make_unique<Impl>()) {
  impl_->place = place;
  impl_->limit = time_limit;
  const std::string hello = "H" + std::to_string(place.rank);
  if (place.rank == 0) impl_->server.emplace(place.port, place.size);
  for (Socket* socket : {&impl_->talk, &impl_->watch}) {
    *socket =
        Socket::connect(place.rank == 0 ? "127.0.0.1" : place.address, place.port, time_limit);
    socket->send(hello);
  }
  impl_->watch.send("W");
  impl_->watcher = std::thread([impl = impl_.get()] { impl->watch_others(); });
}

TcpStore::~TcpStore() {
  impl_->is_leaving = true;
  impl_->talk.send("B");
  if (impl_->server) impl_->server->wait_for_goodbyes(impl_->limit);
  impl_->watch.shut_down();
  impl_->watcher.join();
  impl_->server.reset();
}

void TcpStore::set(const std::string& key, const std::string& value) {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->talk.send("S" + key + '\0' + value))
    throw EnvironmentError("the store of rank 0 is gone");
}
std::string TcpStore::get(const std::string& key) {
  const std::lock_guard lock(impl_->mutex);
  bool is_late = false;
  impl_->talk.send("G" + key);
  const auto value = impl_->talk.receive(impl_->limit, &is_late);
  if (value) return *value;
  throw EnvironmentError(is_late ? fmt::format("rank {}: nobody set \"{}\" in the store within "
                                               "{:.0f} s; are all {} ranks running?",
                                               impl_->place.rank, key, impl_->limit.value,
                                               impl_->place.size)
                                 : "the store of rank 0 is gone");
}
std::string TcpStore::local_address() const {
  // Rank 0 talks to itself over loopback; the others know it under the run's address.
  return impl_->place.rank == 0 ? impl_->place.address : impl_->talk.local_address();
}
void TcpStore::report_failure(const std::string& message) noexcept {
  impl_->is_leaving = true;
  impl_->talk.send("F" + message);
}

namespace {
class LocalStore final : public Store {
 public:
  explicit LocalStore(Seconds limit) : limit_(limit) {}
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
  }
  std::string get(const std::string& key) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::duration<double>(limit_.value),
                           [&] { return values_.contains(key); }))
      throw EnvironmentError("nobody set \"" + key + "\" in the store");
    return values_[key];
  }
  std::string local_address() const override { return "127.0.0.1"; }

 private:
  Seconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};
}  // namespace

std::unique_ptr<Store> new_local_store(Seconds time_limit) {
  return std::make_unique<LocalStore>(time_limit);
}
}  // namespace stepcast::runtime
