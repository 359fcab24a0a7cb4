// HttpObserver sees each request begin and end: metrics, and a line of the log at debug. Never
// a header, a body or a query.
//
// Threads: began() and ended() of one request come from the thread that serves it.
#pragma once

#include <httplib.h>

#include "coordinator/metrics.hpp"

namespace aqua::coordinator {

class HttpObserver {
 public:
  // `metrics` outlives this.
  explicit HttpObserver(Metrics& metrics) : metrics_(metrics) {}

  void began(const httplib::Request& request);
  // When the reply was written, or could not be. Of a request that never began, since nobody
  // could read it, only the reply is counted.
  void ended(const httplib::Request& request, const httplib::Response& response);

 private:
  Metrics& metrics_;
};

}  // namespace aqua::coordinator
