// SPDX-License-Identifier: Apache-2.0
#include "lending/scrubber.hpp"

#include "base/step.hpp"
#include "base/try.hpp"

namespace aqua::lending {

Result<std::unique_ptr<Scrubber>> Scrubber::start(device::Device& device, Remake remake,
                                                  Done done) {
  AQUA_ASSIGN(auto event, device.create_event());
  AQUA_ASSIGN(auto stream, device::OwnStream::create(device));
  return std::unique_ptr<Scrubber>(new Scrubber(device, std::move(stream), std::move(event),
                                                std::move(remake), std::move(done)));
}

Scrubber::Scrubber(device::Device& device, device::OwnStream stream,
                   std::unique_ptr<device::Event> event, Remake remake, Done done)
    : device_(device),
      stream_(std::move(stream)),
      event_(std::move(event)),
      remake_(std::move(remake)),
      done_(std::move(done)) {
  thread_ = std::thread([this] { run(); });
}

Scrubber::~Scrubber() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Scrubber::submit(const Job& job) {
  {
    const MutexLock lock(mu_);
    jobs_.push_back(job);
  }
  changed_.notify_all();
}

std::optional<Scrubber::Job> Scrubber::next() {
  const MutexLock lock(mu_);
  while (jobs_.empty()) {
    if (stopping_) return std::nullopt;
    if (without_memory_.empty()) {
      changed_.wait(mu_);
    } else if (!changed_.wait_until(mu_, try_again_)) {
      jobs_.swap(without_memory_);
    }
  }
  const Job job = jobs_.front();
  jobs_.pop_front();
  return job;
}

void Scrubber::run() {
  while (auto job = next()) {
    if (job->address == nullptr) {
      auto place = remake_(*job);
      if (!place.ok()) {
        const MutexLock lock(mu_);
        without_memory_.push_back(*job);
        try_again_ = std::chrono::steady_clock::now() + kPatience;
        continue;
      }
      job->address = *place;
    }
    step("scrub");
    done_(*job, scrub(*job));
  }
}

Result<void> Scrubber::scrub(const Job& job) {
  AQUA_TRY(device_.scrub(job.address, job.bytes, *stream_));
  AQUA_TRY(device_.record(*event_, *stream_));
  return device_.synchronize(*event_);
}

}  // namespace aqua::lending
