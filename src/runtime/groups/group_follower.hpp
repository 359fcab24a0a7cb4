// SPDX-License-Identifier: Apache-2.0
// GroupFollower is the thread behind a GroupMember: it joins, follows the group by long polls, and
// sends what the engine has said until the coordinator has it.
//
// Threads: one of its own; every method from any.
// Owns:    its thread. Client, callbacks and leaver outlive it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "aqua/groups.hpp"
#include "base/mutex.hpp"
#include "groups/term.hpp"
#include "runtime/groups/group_leaver.hpp"
#include "runtime/queues/callback_queue.hpp"
#include "southbound/client.hpp"
#include "southbound/interrupt.hpp"

namespace aqua::runtime {

class GroupFollower {
 public:
  GroupFollower(GroupOptions options, const ClientId& self, southbound::Client& client,
                CallbackQueue& callbacks, GroupLeaver& leaver, southbound::Interrupt interrupt);
  ~GroupFollower() { stop(); }
  GroupFollower(const GroupFollower&) = delete;
  GroupFollower& operator=(const GroupFollower&) = delete;

  [[nodiscard]] Result<void> acknowledge(groups::Term term, std::vector<groups::Watermark> marks);
  [[nodiscard]] Result<void> resumed(groups::Term term);
  [[nodiscard]] Result<void> check(std::string_view group, groups::Term term) const;
  [[nodiscard]] GroupNews news() const;
  // The group in which it may have a place: also one whose answer to joining was lost. Final after
  // stop().
  [[nodiscard]] std::optional<groups::GroupId> place() const;
  // No callback begins any more. Waits for one in progress, and for a call under way, but for no
  // poll. Not from a callback.
  void stop();

 private:
  void run();
  // The group as it is; an error that repeating would not mend.
  [[nodiscard]] Result<groups::Group> enter();
  [[nodiscard]] Result<groups::Group> try_enter();
  // Turns not_found into unavailable before the group has been joined: it ended since it was found,
  // and the next try creates it anew.
  [[nodiscard]] Result<groups::Group> or_again(Result<groups::Group> entered) const;
  // The group that has been joined.
  [[nodiscard]] std::optional<groups::GroupId> joined() const;
  [[nodiscard]] Result<void> follow(groups::Group group);
  // What the engine has said and the coordinator has not heard. Whether anything was sent.
  [[nodiscard]] Result<bool> send(const groups::Group& group);
  void tell(const groups::Group& group);
  void end(const Error& why);
  // False when it is time to stop.
  [[nodiscard]] bool rest(std::chrono::milliseconds pause);
  // Whether this engine may say something of the term.
  [[nodiscard]] Result<void> of_this_term(groups::Term term) const AQUA_REQUIRES(mu_);

  const GroupOptions options_;
  const ClientId self_;
  southbound::Client& client_;
  CallbackQueue& callbacks_;
  GroupLeaver& leaver_;
  const southbound::Interrupt interrupt_;  // raised to look around: something was said, or stop

  // Its own thread's:
  Epoch epoch_;                        // in which the last try to enter began
  std::optional<groups::Group> told_;  // the last news

  // Callbacks that are still queued find out that nobody wants them.
  struct Listener {
    Mutex mu;
    bool gone AQUA_GUARDED_BY(mu) = false;
  };
  const std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();

  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  GroupNews news_ AQUA_GUARDED_BY(mu_);
  groups::Stamp known_ AQUA_GUARDED_BY(mu_);  // the newest term that was told
  groups::Term acts_in_ AQUA_GUARDED_BY(mu_) = 0;
  std::optional<groups::GroupId> joined_ AQUA_GUARDED_BY(mu_);
  std::optional<groups::GroupId> perhaps_joined_ AQUA_GUARDED_BY(mu_);
  std::optional<wire::AcknowledgeRequest> acknowledged_ AQUA_GUARDED_BY(mu_);
  groups::Term resumed_ AQUA_GUARDED_BY(mu_) = 0;
  std::thread thread_;
};

}  // namespace aqua::runtime
