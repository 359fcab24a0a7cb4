// SPDX-License-Identifier: Apache-2.0
// RouteState is how a route is now: how many of its connections are up, and why the others are not.
//
// Threads: every method may be called concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "aqua/handoff/segment.hpp"
#include "base/mutex.hpp"

namespace aqua::courier {

class RouteState {
 public:
  struct Now {
    std::size_t up = 0;
    std::size_t over_ucx = 0;  // of these, where UCX moves the bytes
    std::string why{};         // of one that is down: what it said last; "" where all are up
  };
  // The pool and the peer tell it apart, with no pool copies for the peer; how many connections
  // there have to be.
  RouteState(std::string pool, std::string peer, std::size_t connections)
      : pool_(std::move(pool)), peer_(std::move(peer)), connections_(connections) {}

  [[nodiscard]] const std::string& pool() const noexcept { return pool_; }
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_; }
  [[nodiscard]] Now now() const {
    const MutexLock lock(mu_);
    return {up_, over_ucx_, up_ == connections_ ? std::string() : why_};
  }

  // Notes what the other side lacks of copies.
  void set_behind(const SegmentSum& behind) {
    const MutexLock lock(mu_);
    behind_ = behind;
  }
  [[nodiscard]] SegmentSum behind() const {
    const MutexLock lock(mu_);
    return behind_;
  }

  // Counts the bytes of a parcel or a copy that are yet to be sent to the other side.
  void begins_to_send(std::uint64_t bytes) {
    const MutexLock lock(mu_);
    left_ += bytes;
  }
  void has_sent(std::uint64_t bytes) {
    const MutexLock lock(mu_);
    left_ -= bytes;
  }
  [[nodiscard]] std::uint64_t left() const {
    const MutexLock lock(mu_);
    return left_;
  }

  void connected(bool over_ucx) {
    const MutexLock lock(mu_);
    ++up_;
    if (over_ucx) ++over_ucx_;
  }
  void lost(bool over_ucx) {
    const MutexLock lock(mu_);
    --up_;
    if (over_ucx) --over_ucx_;
  }
  void failed(const std::string& why) {
    const MutexLock lock(mu_);
    why_ = why;
  }

 private:
  const std::string pool_;
  const std::string peer_;
  const std::size_t connections_;

  mutable Mutex mu_;
  std::size_t up_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t over_ucx_ AQUA_GUARDED_BY(mu_) = 0;
  SegmentSum behind_ AQUA_GUARDED_BY(mu_);
  std::uint64_t left_ AQUA_GUARDED_BY(mu_) = 0;
  std::string why_ AQUA_GUARDED_BY(mu_) = "no connection has been made yet";
};

}  // namespace aqua::courier
