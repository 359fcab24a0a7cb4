// SPDX-License-Identifier: Apache-2.0
// A network between an etcd and who asks it, which can hold back what goes one way and deliver it
// later: also requests of who has given up waiting, and no longer listens for the answer.
//
// Threads: every method may be called concurrently; one of its own moves the bytes.
#pragma once

#include <cstdint>
#include <list>
#include <ostream>
#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "base/wake_event.hpp"
#include "tests/loopback_socket.hpp"

namespace aqua::testing {

class SlowProxy {
 public:
  enum class Holds : std::uint8_t { nothing, requests, replies };

  // Stands before the etcd at this URL, "http://127.0.0.1:PORT".
  explicit SlowProxy(const std::string& url);
  ~SlowProxy();
  SlowProxy(const SlowProxy&) = delete;
  SlowProxy& operator=(const SlowProxy&) = delete;

  [[nodiscard]] std::string url() const;
  // From now on. What was held goes on, if it is not to be held now.
  void hold(Holds what);
  // Requests that are held, of who has given up, and all those so far whose replies were held until
  // then.
  [[nodiscard]] std::uint64_t given_up() const;
  // Requests of who had given up that etcd has answered since.
  [[nodiscard]] std::uint64_t late() const;

 private:
  struct Pair {
    UniqueFd client, server;  // without a client: it has given up
    std::string to_server{}, to_client{};
  };
  void run();
  void accept();
  // False: the pair is done.
  bool move(Pair& pair) AQUA_REQUIRES(mu_);

  const int etcd_port_;
  const LoopbackSocket listener_;
  const UniqueFd wake_ = make_wake_event().value();
  mutable Mutex mu_;
  Holds holds_ AQUA_GUARDED_BY(mu_) = Holds::nothing;
  bool stop_ AQUA_GUARDED_BY(mu_) = false;
  std::uint64_t late_ AQUA_GUARDED_BY(mu_) = 0;
  std::uint64_t unheard_ AQUA_GUARDED_BY(mu_) = 0;
  std::list<Pair> pairs_ AQUA_GUARDED_BY(mu_);
  std::thread thread_;
};

// GoogleTest's, of a parameter.
inline void PrintTo(SlowProxy::Holds what, std::ostream* out) {
  *out << (what == SlowProxy::Holds::nothing    ? "nothing"
           : what == SlowProxy::Holds::requests ? "requests"
                                                : "replies");
}

}  // namespace aqua::testing
