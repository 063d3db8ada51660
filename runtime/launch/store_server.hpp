#pragma once
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "runtime/launch/socket.hpp"

namespace stepcast::runtime {
/// The serving half of the store, inside rank 0: a thread per connection.
class StoreServer {
 public:
  StoreServer(int port, int ranks);
  ~StoreServer();
  /// Until every rank said goodbye or failed, or the limit.
  void wait_for_goodbyes(Seconds limit);

 private:
  void accept_all();
  void serve(const Socket& socket);
  void fail(const std::string& text);

  Socket listening_;
  int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::set<int> gone_;
  std::string failure_;
  bool is_closing_ = false;
  std::list<Socket> sockets_;
  std::list<std::thread> threads_;
  std::thread acceptor_;  // last: it uses the members above
};
}  // namespace stepcast::runtime
