// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "aqua/groups.hpp"
#include "base/errno_error.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "runtime/groups/group_follower.hpp"
#include "runtime/impl.hpp"

namespace aqua {

struct GroupMember::Parts {
  Runtime runtime;  // a view, which stays good when the runtime is moved
  std::unique_ptr<runtime::GroupFollower> follower;

  // The place is given up in the background: a runtime that closes before that gives up all.
  ~Parts() {
    auto& impl = detail::Internals::impl(runtime);
    // A forked child does not have the follower's thread, and destroying the follower would hang.
    if (!impl.check_process().ok()) {
      (void)follower.release();
      return;
    }
    follower->stop();
    if (const auto group = follower->place()) impl.group_leaver().leave(*group);
  }
};

GroupMember::GroupMember(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
GroupMember::GroupMember(GroupMember&&) noexcept = default;
GroupMember& GroupMember::operator=(GroupMember&&) noexcept = default;
GroupMember::~GroupMember() = default;

Result<GroupMember> GroupMember::join(Runtime& runtime, GroupOptions options) {
  auto& impl = detail::Internals::impl(runtime);
  AQUA_TRY(impl.check_process());
  if (impl.services().coordinator == nullptr)
    return Error{Code::failed_precondition, "group: the runtime has no coordinator"};
  if (options.observes && options.rank)
    return Error{Code::invalid_argument, "group: one that observes has no rank"};
  AQUA_ASSIGN(auto interrupt, southbound::Interrupt::open());
  return with_threads("group", [&]() -> Result<GroupMember> {
    auto follower = std::make_unique<runtime::GroupFollower>(
        std::move(options), impl.id(), *impl.services().coordinator, impl.callbacks(),
        impl.group_leaver(), std::move(interrupt));
    return GroupMember(
        std::unique_ptr<Parts>(new Parts{detail::Internals::view(runtime), std::move(follower)}));
  });
}

Result<void> GroupMember::acknowledge(std::uint64_t term,
                                      const std::vector<GroupWatermark>& marks) {
  std::vector<groups::Watermark> all;
  all.reserve(marks.size());
  for (const GroupWatermark& mark : marks) {
    all.push_back({{static_cast<groups::Role>(mark.of.role), mark.of.stage, mark.of.tensor},
                   mark.sequence,
                   mark.mark});
  }
  return parts_->follower->acknowledge(term, std::move(all));
}

Result<void> GroupMember::resumed(std::uint64_t term) {
  return parts_->follower->resumed(term);
}

Result<void> GroupMember::check(std::string_view group, std::uint64_t term) const {
  return parts_->follower->check(group, term);
}

GroupNews GroupMember::news() const {
  return parts_->follower->news();
}

}  // namespace aqua
