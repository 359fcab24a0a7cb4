// SPDX-License-Identifier: Apache-2.0
// Scrubber zeroes slabs that are between two tenants, one after the other on a stream of
// its own, and says so for each.
//
// Threads: submit from any. `done` runs on the scrubber's thread, in order of submission.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.hpp"
#include "device/device.hpp"
#include "device/own_stream.hpp"

namespace aqua::lending {

class Scrubber {
 public:
  struct Job {
    std::uint32_t index = 0;
    std::byte* address = nullptr;  // mapped until done
    std::size_t bytes = 0;
  };
  // `zeroed` is an error when the memory could not be written (it died): never lend it again.
  using Done = std::function<void(const Job& job, const Result<void>& zeroed)>;

  [[nodiscard]] static Result<std::unique_ptr<Scrubber>> start(device::Device& device, Done done);
  // Finishes what was submitted, then stops.
  ~Scrubber();
  Scrubber(const Scrubber&) = delete;
  Scrubber& operator=(const Scrubber&) = delete;

  void submit(const Job& job);

 private:
  Scrubber(device::Device& device, device::OwnStream stream, std::unique_ptr<device::Event> event,
           Done done);
  void run();
  [[nodiscard]] Result<void> scrub(const Job& job);

  device::Device& device_;
  const device::OwnStream stream_;
  const std::unique_ptr<device::Event> event_;  // used by the thread only
  const Done done_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Job> jobs_ AQUA_GUARDED_BY(mu_);
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::lending
