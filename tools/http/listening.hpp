// SPDX-License-Identifier: Apache-2.0
// Listening is the thread on which a server of cpp-httplib accepts connections. The library closes
// the socket for good after an error of accept(), though most of them pass, such as ENFILE: here
// the server is bound anew and listens on.
//
// Threads: one of its own, from construction to destruction, which stops the server.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "base/mutex.hpp"

namespace httplib {
class Server;
}

namespace aqua::http {

class Listening {
 public:
  // Binds the server to its address again. False: not now.
  using Bind = std::function<bool()>;

  // The server, which is bound, outlives it.
  Listening(httplib::Server& server, Bind bind);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  void run();
  // False when it is time to end.
  [[nodiscard]] bool bind_again();

  httplib::Server& server_;
  const Bind bind_;
  Mutex mu_;
  CondVar changed_;
  bool ending_ AQUA_GUARDED_BY(mu_) = false;
  std::atomic<bool> over_{false};  // the server does not listen any more
  std::thread thread_;
};

}  // namespace aqua::http
