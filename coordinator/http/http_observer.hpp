// SPDX-License-Identifier: Apache-2.0
// HttpObserver sees each request begin and end: metrics, and a line of the log at debug. Never
// a header, a body or a query.
//
// Threads: every method may be called concurrently.
#pragma once

#include <chrono>
#include <string_view>

#include "aqua/result.hpp"
#include "coordinator/http/reply.hpp"
#include "coordinator/http/request_head.hpp"
#include "coordinator/observe/metrics.hpp"

namespace aqua::coordinator {

class HttpObserver {
 public:
  // A request under way; `route` as Router::label_of, borrowed until ended().
  struct Call {
    std::string_view route;
    std::chrono::steady_clock::time_point began;
  };

  // `metrics` outlives this.
  explicit HttpObserver(Metrics& metrics) : metrics_(metrics) {}

  [[nodiscard]] Call began(std::string_view route);
  // When the reply was written, or could not be. `head` is empty where nobody could read it.
  void ended(const Call& call, const RequestHead& head, const Reply& reply);
  // A problem was the reply.
  void refused(Code code) { metrics_.refused(code); }

 private:
  Metrics& metrics_;
};

}  // namespace aqua::coordinator
