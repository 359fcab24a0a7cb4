// SPDX-License-Identifier: Apache-2.0
// Copies that were accepted and could not be queued to their end. What is on a stream cannot be
// taken back, so such a copy counts as work that failed: the events after it say so.
//
// Threads: any. Asking costs one atomic load until something has failed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "aqua/types.hpp"
#include "base/mutex.hpp"
#include "device/event_point.hpp"

namespace aqua::device {

// What an event must report: nothing where `failure` is 0.
struct FailureMark {
  std::shared_ptr<FailureLog> log;
  std::uint64_t failure = 0;
  std::uint64_t latest = 0;  // whether it has been reported or not
};

class PostFailures {
 public:
  void note(Stream stream) {
    const MutexLock lock(mu_);
    auto& log = logs_[stream];
    if (log == nullptr) log = std::make_shared<FailureLog>();
    log->note_failure();
    any_.store(true);
  }
  // The stream is no more. Events recorded on it keep what they have to report.
  void forget(Stream stream) {
    if (!any_.load()) return;
    const MutexLock lock(mu_);
    logs_.erase(stream);
  }
  [[nodiscard]] FailureMark unreported(Stream stream) const {
    if (!any_.load()) return {};
    const MutexLock lock(mu_);
    const auto found = logs_.find(stream);
    if (found == logs_.end()) return {};
    return {found->second, found->second->unreported(), found->second->latest()};
  }

 private:
  std::atomic<bool> any_{false};
  mutable Mutex mu_;
  std::map<Stream, std::shared_ptr<FailureLog>> logs_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::device
