#include "runtime/launch/store_server.hpp"

#include <chrono>

namespace stepcast::runtime {

StoreServer::StoreServer(int port, int ranks)
    : listening_(Socket::listen(port)), ranks_(ranks), acceptor_([this] { accept_all(); }) {}

StoreServer::~StoreServer() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    changed_.notify_all();
    for (const Socket& socket : sockets_) socket.shut_down();
  }
  listening_.shut_down();
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
}

void StoreServer::wait_for_goodbyes(Seconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(limit.value), [this] {
    return static_cast<int>(gone_.size()) >= ranks_ || !failure_.empty();
  });
}

void StoreServer::accept_all() {
  while (auto socket = listening_.accept()) {
    const std::lock_guard lock(mutex_);
    if (is_closing_) return;
    const Socket& kept = sockets_.emplace_back(std::move(*socket));
    threads_.emplace_back([this, &kept] { serve(kept); });
  }
}

void StoreServer::fail(const std::string& text) {
  if (failure_.empty()) failure_ = text;
  changed_.notify_all();
}

void StoreServer::serve(const Socket& socket) {
  int rank = -1;
  bool is_watch = false;
  while (const auto message = socket.receive(Seconds(0))) {
    const char kind = message->empty() ? '?' : message->front();
    const std::string rest = message->empty() ? "" : message->substr(1);
    std::unique_lock lock(mutex_);
    if (kind == 'H') rank = std::stoi(rest);
    if (kind == 'S') {
      const std::size_t cut = rest.find('\0');
      values_[rest.substr(0, cut)] = cut == std::string::npos ? "" : rest.substr(cut + 1);
      changed_.notify_all();
    }
    if (kind == 'F') fail("rank " + std::to_string(rank) + " failed: " + rest);
    if (kind == 'B') {
      gone_.insert(rank);
      changed_.notify_all();
    }
    if (kind == 'G') {
      changed_.wait(lock, [&] { return values_.contains(rest) || is_closing_; });
      if (is_closing_) return;
      const std::string value = values_[rest];
      lock.unlock();
      if (!socket.send(value)) break;
    }
    if (kind == 'W') {
      is_watch = true;
      changed_.wait(lock, [this] {
        return !failure_.empty() || is_closing_ || static_cast<int>(gone_.size()) >= ranks_;
      });
      if (failure_.empty()) return;
      const std::string text = failure_;
      lock.unlock();
      socket.send(text);
      return;
    }
  }
  const std::lock_guard lock(mutex_);
  if (rank >= 0 && !is_watch && !gone_.contains(rank) && !is_closing_)
    fail("rank " + std::to_string(rank) +
         " failed: it ended without a word (killed, crashed, or its node is gone)");
}
}  // namespace stepcast::runtime
