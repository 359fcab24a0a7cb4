// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/page_reaper.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace aqua::device {

PageReaper::PageReaper() : thread_([this] { run(); }) {}

PageReaper::~PageReaper() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void PageReaper::close_later(UniqueFd file) {
  const MutexLock lock(mu_);
  files_.push_back(std::move(file));
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
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);  // of this thread only
  const MutexLock lock(mu_);
  for (;;) {
    while (files_.empty() && !stopping_) changed_.wait(mu_);
    if (files_.empty()) return;
    close_one();
  }
}

void PageReaper::close_one() {
  UniqueFd file = std::move(files_.front());
  files_.pop_front();
  ++closing_;
  mu_.unlock();
  file.reset();
  mu_.lock();
  --closing_;
  changed_.notify_all();
}

}  // namespace aqua::device
