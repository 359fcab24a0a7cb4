// SPDX-License-Identifier: Apache-2.0
// UcxArrivals is what active messages have brought to a worker. One that does not begin with the
// key of this connection is dropped and not read. Of those that do, one at a time is kept until it
// is taken, and its bytes stay with the sender until then: it announces each, and offers the next
// when it has got through.
//
// Threads: one at a time. UCX calls it while the worker makes progress.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "aqua/result.hpp"
#include "tools/courier/ucx/ucx_library.hpp"
#include "tools/courier/wire/ucx_point.hpp"

namespace aqua::courier {

// What a message begins with.
struct UcxHead {
  UcxKey key{};
  std::uint64_t number = 0;  // of those with bytes, from 1 on
};
static_assert(sizeof(UcxHead) == 24);

inline constexpr unsigned kUcxBytes = 1;  // numbers of active messages
inline constexpr unsigned kUcxHere = 2;   // has no bytes: this side can be reached

class UcxArrivals {
 public:
  struct Message {
    std::uint64_t number = 0;
    void* data = nullptr;    // UCX's, by which they are received or released
    std::size_t length = 0;  // of bytes, which are still with the sender
  };

  UcxArrivals(const UcxLibrary& ucx, const UcxKey& key) : ucx_(ucx), key_(key) {}
  UcxArrivals(const UcxArrivals&) = delete;
  UcxArrivals& operator=(const UcxArrivals&) = delete;

  // Has the worker bring what comes here.
  [[nodiscard]] ucs_status_t listen(ucp_worker_h worker);

  // The other side has said that it can be reached.
  [[nodiscard]] bool is_met() const noexcept { return met_; }
  [[nodiscard]] const std::optional<Message>& waiting() const noexcept { return waiting_; }
  [[nodiscard]] Message take();
  // Messages that had not the key.
  [[nodiscard]] std::uint64_t strange() const noexcept { return strange_; }
  // invalid_argument: what has come with the key, and should not have.
  [[nodiscard]] Result<void> check() const;

 private:
  static ucs_status_t bytes_came(void* self, const void* head, std::size_t head_length, void* data,
                                 std::size_t length, const ucp_am_recv_param_t* how);
  static ucs_status_t is_here(void* self, const void* head, std::size_t head_length, void* data,
                              std::size_t length, const ucp_am_recv_param_t* how);
  [[nodiscard]] std::optional<UcxHead> head_of(const void* head, std::size_t length);

  const UcxLibrary& ucx_;
  const UcxKey key_;
  std::optional<Message> waiting_{};
  std::uint64_t strange_ = 0;
  bool met_ = false;
  bool out_of_turn_ = false;
};

}  // namespace aqua::courier
