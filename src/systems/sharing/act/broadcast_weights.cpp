// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <future>
#include <utility>

#include "aqua/sharing/copy_weights.hpp"
#include "base/mutex.hpp"

namespace aqua::sharing {
namespace {

// Adds up what copies that run at the same time tell of themselves.
class Progress {
 public:
  Progress(const CopyOptions& options, std::size_t devices)
      : tell_(options.on_progress), done_(devices) {}

  std::function<void(std::uint64_t, std::uint64_t)> of(std::size_t device) {
    if (!tell_) return {};
    return [this, device](std::uint64_t done, std::uint64_t of_one) {
      const MutexLock lock(mu_);
      sum_ += done - std::exchange(done_[device], done);
      tell_(sum_, of_one * done_.size());  // one at a time
    };
  }

 private:
  const std::function<void(std::uint64_t, std::uint64_t)>& tell_;
  Mutex mu_;
  std::vector<std::uint64_t> done_ AQUA_GUARDED_BY(mu_);  // by device
  std::uint64_t sum_ AQUA_GUARDED_BY(mu_) = 0;
};

}  // namespace

std::vector<Result<LoadedWeights>> broadcast_weights(std::span<Runtime* const> runtimes,
                                                     const CopyOptions& options) {
  Progress progress(options, runtimes.size());
  CopyOptions wanted = options;
  std::vector<Runtime*> sources{options.source};
  std::vector<Result<LoadedWeights>> copied;
  while (copied.size() < runtimes.size()) {
    const std::size_t first = copied.size();
    std::vector<std::future<Result<LoadedWeights>>> round;
    for (std::size_t i = 0; i < std::min(sources.size(), runtimes.size() - first); ++i) {
      wanted.source = sources[i];
      // The first one may be without a runtime of its own here.
      wanted.from = i == 0 ? options.from : std::string();
      wanted.on_progress = progress.of(first + i);
      round.push_back(std::async(std::launch::async, [to = runtimes[first + i], wanted] {
        return copy_weights(*to, wanted);
      }));
    }
    for (std::size_t i = 0; i < round.size(); ++i) {
      copied.push_back(round[i].get());
      if (!copied.back().ok()) continue;
      wanted.version = copied.back()->version;  // all get what the first one got
      sources.push_back(runtimes[first + i]);
    }
  }
  return copied;
}

}  // namespace aqua::sharing
