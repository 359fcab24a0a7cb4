// SPDX-License-Identifier: Apache-2.0
// EventPool keeps the events of transfers that are over for those to come: each that is made costs
// a call of the driver, and a staged transfer has dozens.
//
// Threads: every method may be called concurrently. An event may outlive everything but the pool,
//          which it keeps. The device outlives the last call of take().
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "device/device.hpp"

namespace aqua::transfer {

class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  class Return {
   public:
    Return() = default;
    explicit Return(std::shared_ptr<EventPool> pool) noexcept : pool_(std::move(pool)) {}
    void operator()(device::Event* event) const noexcept {
      pool_->give_back(std::unique_ptr<device::Event>(event));
    }

   private:
    std::shared_ptr<EventPool> pool_;
  };
  // Goes back to the pool when it is dropped. Whoever drops it waits for it no more.
  using Pooled = std::unique_ptr<device::Event, Return>;

  // Takes the memory that giving back will need: that happens where nothing may be thrown.
  explicit EventPool(device::Device& device) : device_(device) { idle_.reserve(kMostIdle); }

  // An event to record: what it stands for before that has no meaning.
  [[nodiscard]] Result<Pooled> take() {
    {
      const MutexLock lock(mu_);
      if (!idle_.empty()) {
        std::unique_ptr<device::Event> event = std::move(idle_.back());
        idle_.pop_back();
        return Pooled(event.release(), Return(shared_from_this()));
      }
    }
    auto made = device_.create_event();
    if (!made.ok()) return std::move(made).error();
    return Pooled(made->release(), Return(shared_from_this()));
  }

 private:
  static constexpr std::size_t kMostIdle = 1024;

  void give_back(std::unique_ptr<device::Event> event) noexcept {
    const MutexLock lock(mu_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(event));
  }

  device::Device& device_;
  Mutex mu_;
  std::vector<std::unique_ptr<device::Event>> idle_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::transfer
