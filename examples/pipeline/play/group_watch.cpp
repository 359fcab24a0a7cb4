// SPDX-License-Identifier: Apache-2.0
#include "play/group_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "must.hpp"
#include "serve/membership.hpp"

namespace aqua::pipeline {

GroupWatch::GroupWatch(Coordinator& coordinator, const std::string& pipeline,
                       const PipelineShape& shape, const ModelShape& model)
    : changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  constexpr std::chrono::seconds kPatience{60};  // on a busy machine
  constexpr int kOneWait = 20;                   // milliseconds
  GroupOptions options = group_of(pipeline, shape, model);
  options.observes = true;
  options.on_news = [this](const GroupNews& news) {
    {
      const std::lock_guard lock(mutex_);
      began_.try_emplace(news.term, std::chrono::steady_clock::now());
    }
    (void)::eventfd_write(changed_.get(), 1);
  };
  options.on_end = [this](const Error& why) {
    {
      const std::lock_guard lock(mutex_);
      ended_ = why;
    }
    (void)::eventfd_write(changed_.get(), 1);
  };
  member_ = example::must(GroupMember::join(coordinator.runtime(), std::move(options)), "group");
  pollfd waiting{changed_.get(), POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (::poll(&waiting, 1, kOneWait) <= 0) {
    if (std::chrono::steady_clock::now() > deadline)
      throw example::Failure("the coordinator knows no group " + pipeline);
    coordinator.look();
  }
  check();
}

void GroupWatch::check() const {
  const std::lock_guard lock(mutex_);
  if (ended_) throw example::Failure("the group has ended: " + ended_->message);
}

std::optional<std::chrono::steady_clock::time_point> GroupWatch::began_after(
    std::uint64_t term) const {
  const std::lock_guard lock(mutex_);
  const auto next = began_.upper_bound(term);
  return next == began_.end() ? std::nullopt : std::optional(next->second);
}

GroupNews GroupWatch::heard() {
  eventfd_t none = 0;
  (void)::eventfd_read(changed_.get(), &none);
  check();
  return member_->news();
}

}  // namespace aqua::pipeline
