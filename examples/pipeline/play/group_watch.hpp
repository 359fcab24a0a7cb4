// SPDX-License-Identifier: Apache-2.0
// GroupWatch creates a pipeline's group at the coordinator, which lives as long as it does, and
// hears of it.
//
// Threads: one; news come on a thread of the runtime's. Errors: Failure, also where the
// group was refused, or ended by hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "aqua/groups.hpp"
#include "fd.hpp"
#include "options.hpp"
#include "play/coordinator.hpp"

namespace aqua::pipeline {

// Whether the group runs in this term. False: another one has begun. None: it does not run yet.
[[nodiscard]] inline std::optional<bool> runs_in(std::uint64_t term, const GroupNews& news) {
  if (news.term > term) return false;
  if (news.term == term && news.state == GroupState::running) return true;
  return {};
}

class GroupWatch {
 public:
  // Returns once the group is there. The coordinator outlives it.
  GroupWatch(Coordinator& coordinator, const std::string& pipeline, const PipelineShape& shape,
             const ModelShape& model);
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  // Readable once there are news that heard() has not returned.
  [[nodiscard]] int fd() const { return changed_.get(); }
  // The last news. Failure: the group has ended.
  [[nodiscard]] GroupNews heard();
  // When the first term behind this one was heard of. None: it has not been.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> began_after(
      std::uint64_t term) const;
  // The newest term.
  [[nodiscard]] std::uint64_t term() const { return member_->news().term; }

 private:
  // Throws Failure where the group has ended.
  void check() const;

  example::Fd changed_;  // an eventfd
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::chrono::steady_clock::time_point> began_{};  // terms
  std::optional<Error> ended_{};
  std::optional<GroupMember> member_{};
};

}  // namespace aqua::pipeline
