// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/watcher.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/concat.hpp"

namespace aqua::bench {

void Watcher::wait(std::function<void(Clock::time_point)> revoked) {
  revoked_ = std::move(revoked);
  if (last_ == 0) {  // from now on
    const std::string snapshot = session_.call("GET", "/v1/watch");
    last_ = number_in(snapshot, "last_event");
  }
  poll(concat("?timeout_ms=60000&after=", last_));
}

void Watcher::poll(const std::string& query) {
  http_.ask(server_.address, session_.request("GET", concat("/v1/watch", query)),
            [this](const Reply& reply) {
              if (reply.status != 200) {
                std::fprintf(stderr, "watch: status %d\n", reply.status);
                std::exit(1);
              }
              last_ = number_in(reply.body, "last_event");
              if (reply.body.find("\"revoke\"") == std::string_view::npos)
                return poll(concat("?timeout_ms=60000&after=", last_));
              const auto revoked = std::exchange(revoked_, nullptr);
              revoked(reply.at);
            });
}

}  // namespace aqua::bench
