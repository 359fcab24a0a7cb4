// SPDX-License-Identifier: Apache-2.0
// UcxWorker is UCX for one connection: a context, a worker, and the endpoint to the other side. Its
// bytes cross a network, and never memory that servers share: other transports are left out.
//
// Threads: one at a time.
#pragma once

#include <ucp/api/ucp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "aqua/result.hpp"
#include "tools/courier/net/tls_stream.hpp"
#include "tools/courier/ucx/ucx_arrivals.hpp"
#include "tools/courier/ucx/ucx_library.hpp"

namespace aqua::courier {

class UcxWorker {
 public:
  // Over RDMA where this server has a device for it, else over TCP. unavailable: UCX's words.
  [[nodiscard]] static Result<std::unique_ptr<UcxWorker>> open(const UcxLibrary& ucx,
                                                               const UcxKey& key);
  ~UcxWorker() { close(); }
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] UcxArrivals& arrivals() noexcept { return arrivals_; }
  // Has the endpoint made, which UCX connects when something is sent.
  [[nodiscard]] Result<void> connect(const std::string& address);
  // Begins to send. The head and the bytes stay until it is finished, or the worker closed.
  [[nodiscard]] Result<void> post(unsigned id, const UcxHead& head,
                                  std::span<const std::byte> bytes);
  // Begins to receive what has arrived into a buffer of that length, which stays likewise.
  [[nodiscard]] Result<void> receive(const UcxArrivals::Message& message,
                                     std::span<std::byte> into);
  // What was begun has ended, well or not.
  [[nodiscard]] Result<bool> is_finished();

  struct Waiting {
    std::chrono::milliseconds patience{};
    bool is_renewed = true;    // the patience, by each thing that moves; else it is for all
    bool or_readable = false;  // until the stream has something to be read, too
  };
  // Makes progress until `done` holds.
  //   unavailable  the patience is over, the endpoint or the stream has ended
  //   cancelled    the stream's stop event
  [[nodiscard]] Result<void> wait(const TlsStream& beside, const Waiting& waiting,
                                  const std::function<Result<bool>()>& done);
  // As Carrier::ready_to_wait().
  [[nodiscard]] Result<int> ready_to_wait();
  // Ends all that was begun: from now on UCX reads and writes no memory of others.
  void close();

 private:
  UcxWorker(const UcxLibrary& ucx, const UcxKey& key) : ucx_(ucx), arrivals_(ucx, key) {}
  [[nodiscard]] Result<void> begin(ucs_status_ptr_t request, const char* doing);
  // Whether something has moved that was not a stranger's; what has gone wrong meanwhile.
  [[nodiscard]] Result<bool> progress();
  void release_waiting();

  const UcxLibrary& ucx_;
  UcxArrivals arrivals_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  void* begun_ = nullptr;  // the request of what was begun
  const char* doing_ = "";
  ucs_status_t failed_ = UCS_OK;  // the endpoint
  int wakeup_ = -1;
  std::string address_;
};

}  // namespace aqua::courier
