// SPDX-License-Identifier: Apache-2.0
#include "base/memory/page_reaper.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "base/step.hpp"

namespace aqua {

PageReaper::PageReaper(const PageReaperOptions& options) : niceness_(options.niceness) {
  threads_.reserve(options.threads);
  try {
    while (threads_.size() < options.threads) threads_.emplace_back([this] { run(); });
  } catch (...) {  // std::thread allocates, too
    if (threads_.empty()) throw;
  }
}

PageReaper::~PageReaper() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void PageReaper::close_later(UniqueFd file, Closed closed) {
  const MutexLock lock(mu_);
  files_.push_back({std::move(file), std::move(closed)});
  changed_.notify_all();
}

void PageReaper::catch_up() {
  const MutexLock lock(mu_);
  while (!files_.empty() || closing_ > 0) {
    if (!files_.empty())
      close_one();
    else
      changed_.wait(mu_);
  }
}

void PageReaper::run() {
  if (niceness_ != 0) {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness_);  // of this thread only
  }
  const MutexLock lock(mu_);
  for (;;) {
    while (files_.empty() && !stopping_) changed_.wait(mu_);
    if (files_.empty()) return;
    close_one();
  }
}

void PageReaper::close_one() {
  Leaving leaving = std::move(files_.front());
  files_.pop_front();
  ++closing_;
  mu_.unlock();
  step("free");
  leaving.file.reset();
  if (leaving.closed) leaving.closed();
  mu_.lock();
  --closing_;
  changed_.notify_all();
}

}  // namespace aqua
