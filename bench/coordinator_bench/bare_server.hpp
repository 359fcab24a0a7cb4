// SPDX-License-Identifier: Apache-2.0
// BareServer is what the coordinator is measured against: cpp-httplib as it comes, in a process
// of its own, whose handlers read the request and answer with fixed bytes.
//
// Threads: one; before this process has others, for it forks.
#pragma once

#include <map>
#include <string>

#include "coordinator_bench/server.hpp"

namespace aqua::bench {

class BareServer {
 public:
  // Listens on a Unix socket in `directory` when this returns. POST to each path of `answers` is
  // answered with its text.
  BareServer(const std::string& directory, const std::map<std::string, std::string>& answers);
  ~BareServer();
  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;

  [[nodiscard]] const Server& server() const { return server_; }

 private:
  Server server_;
};

}  // namespace aqua::bench
