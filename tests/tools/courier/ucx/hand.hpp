// SPDX-License-Identifier: Apache-2.0
// Hand is an end of UCX in the hands of who does as he likes.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tools/courier/net/link.hpp"
#include "tools/courier/ucx/ucx_worker.hpp"

namespace aqua::courier {

class Hand {
 public:
  explicit Hand(const Link& link) : beside_(link.stream()), worker_(open()) {}

  [[nodiscard]] UcxPoint here() const { return {kKey, worker_->address()}; }
  void reach(const UcxPoint& there) {
    there_ = there;
    ASSERT_TRUE(worker_->connect(there_.address).ok());
    send(kUcxHere, there_.key, 0, {});
    ASSERT_TRUE(worker_
                    ->wait(beside_, {.patience = std::chrono::seconds(5)},
                           [&]() -> Result<bool> { return worker_->arrivals().is_met(); })
                    .ok());
  }
  [[nodiscard]] const UcxKey& key() const { return there_.key; }
  // Until UCX has done with it, or the other side with this one.
  void send(unsigned id, const UcxKey& key, std::uint64_t number,
            std::span<const std::byte> bytes) {
    head_ = {key, number};
    ASSERT_TRUE(worker_->post(id, head_, bytes).ok());
    finish();
  }
  void finish() {
    (void)worker_->wait(beside_, {.patience = std::chrono::seconds(20)},
                        [&] { return worker_->is_finished(); });
  }
  // Begins to, and leaves it there.
  void begin_to_send(std::uint64_t number, std::span<const std::byte> bytes) {
    head_ = {there_.key, number};
    ASSERT_TRUE(worker_->post(kUcxBytes, head_, bytes).ok());
    const auto armed = worker_->ready_to_wait();  // where the other side has not ended already
    if (armed.ok()) news_ = *armed;
  }
  // Until the other side has said something since, which is left unread.
  void wait_for_news() const {
    pollfd news{news_, POLLIN, 0};
    ASSERT_EQ(::poll(&news, 1, /*timeout=*/60'000), 1);
  }
  // Takes steps, as many as can be taken at once.
  void go_on() { (void)worker_->ready_to_wait(); }
  void close() { worker_.reset(); }

 private:
  static constexpr UcxKey kKey{7};
  static std::unique_ptr<UcxWorker> open() {
    return UcxWorker::open(*load_ucx().value(), kKey).value();
  }

  const TlsStream& beside_;
  UcxPoint there_;
  UcxHead head_{};
  std::unique_ptr<UcxWorker> worker_;
  int news_ = -1;
};

}  // namespace aqua::courier
