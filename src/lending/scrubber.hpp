// SPDX-License-Identifier: Apache-2.0
// Scrubber zeroes slabs that are between two tenants, one after the other on a stream of
// its own, and says so for each.
//
// Threads: submit from any. `remake` and `done` run on the scrubber's thread, in order of
//          submission; what has no memory yet is tried again after the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/mutex.hpp"
#include "device/device.hpp"
#include "device/own_stream.hpp"

namespace aqua::lending {

class Scrubber {
 public:
  struct Job {
    std::uint32_t index = 0;
    std::byte* address = nullptr;  // mapped until done; null: remake first
    std::size_t bytes = 0;
  };
  // Gives the slab of a job without an address other memory, and says where that is mapped. After
  // an error it is called again for the same job, kPatience later at the earliest.
  using Remake = std::function<Result<std::byte*>(const Job& job)>;
  static constexpr std::chrono::milliseconds kPatience{100};
  // `zeroed` is an error when the memory could not be written (it died): never lend it again.
  using Done = std::function<void(const Job& job, const Result<void>& zeroed)>;

  [[nodiscard]] static Result<std::unique_ptr<Scrubber>> start(device::Device& device,
                                                               Remake remake, Done done);
  // Finishes what was submitted, but for jobs that wait for memory, then stops.
  ~Scrubber();
  Scrubber(const Scrubber&) = delete;
  Scrubber& operator=(const Scrubber&) = delete;

  void submit(const Job& job);

 private:
  Scrubber(device::Device& device, device::OwnStream stream, std::unique_ptr<device::Event> event,
           Remake remake, Done done);
  void run();
  // The next job; nothing once it is time to stop.
  [[nodiscard]] std::optional<Job> next();
  [[nodiscard]] Result<void> scrub(const Job& job);

  device::Device& device_;
  const device::OwnStream stream_;
  const std::unique_ptr<device::Event> event_;  // used by the thread only
  const Remake remake_;
  const Done done_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Job> jobs_ AQUA_GUARDED_BY(mu_);
  std::deque<Job> without_memory_ AQUA_GUARDED_BY(mu_);  // go back to jobs_ at try_again_
  std::chrono::steady_clock::time_point try_again_ AQUA_GUARDED_BY(mu_);
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::lending
