// SPDX-License-Identifier: Apache-2.0
#include "runtime/groups/group_follower.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::runtime {
namespace {

constexpr std::chrono::milliseconds kPoll{10'000};
// Between two tries while the coordinator is away; the first ones come sooner, because a runtime
// that was just opened joins it within milliseconds.
constexpr std::chrono::milliseconds kRest{50};
constexpr std::chrono::milliseconds kFirstRest{2};

groups::Pipeline pipeline_of(const GroupPipeline& from) {
  return {.stages = from.stages, .tensor = from.tensor};
}
groups::Shape shape_of(const GroupShape& from) {
  return {.model = from.model, .dtype = from.dtype, .layout = from.layout};
}
groups::Rank rank_of(const GroupRank& from) {
  return {.role = static_cast<groups::Role>(from.role), .stage = from.stage, .tensor = from.tensor};
}
GroupRank told_rank(const groups::Rank& from) {
  return {.role = static_cast<GroupRole>(from.role), .stage = from.stage, .tensor = from.tensor};
}

// Waiting until the coordinator answers again may mend it.
bool passes(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::cancelled;
}

// Whether the coordinator waits for the member to say so. It refuses whoever says it unasked.
bool acknowledges(const groups::Group& group, const groups::Member& self) {
  const bool seals = group.state == groups::State::sealing || group.state == groups::State::waiting;
  return self.rank && seals && !self.acknowledged;
}
bool resumes(const groups::Group& group, const groups::Member& self) {
  return self.rank && group.state == groups::State::resuming && !self.resumed;
}

GroupNews told(const groups::Group& group, const ClientId& self) {
  GroupNews news;
  news.group = to_string(group.id);
  news.term = group.term;
  news.state = static_cast<GroupState>(group.state);
  for (const auto& [client, member] : group.members) {
    GroupPeer peer{to_string(client), member.name, std::nullopt, member.silent};
    if (member.rank) peer.rank = told_rank(*member.rank);
    if (client == self) {
      news.rank = peer.rank;
      news.acknowledge = acknowledges(group, member);
      news.resume = resumes(group, member);
    }
    news.members.push_back(std::move(peer));
  }
  if (!group.plan) return news;
  for (const groups::Resume& each : group.plan->resume)
    news.resumes.push_back({static_cast<GroupRole>(each.role), each.sequence, each.mark});
  for (const groups::Restore& each : group.plan->restore)
    news.restores.push_back({told_rank(each.rank), each.sequence, to_string(each.from), each.mark});
  return news;
}

}  // namespace

GroupFollower::GroupFollower(GroupOptions options, const ClientId& self, southbound::Client& client,
                             CallbackQueue& callbacks, GroupLeaver& leaver,
                             southbound::Interrupt interrupt)
    : options_(std::move(options)),
      self_(self),
      client_(client),
      callbacks_(callbacks),
      leaver_(leaver),
      interrupt_(std::move(interrupt)),
      thread_([this] { run(); }) {}

void GroupFollower::stop() {
  {
    MutexLock lock(listener_->mu);  // waits for a callback in progress
    listener_->gone = true;
  }
  {
    MutexLock lock(mu_);
    stopping_ = true;
    interrupt_.raise();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void GroupFollower::run() {
  for (;;) {
    auto entered = enter();
    if (!entered.ok()) {
      if (entered.error().code != Code::cancelled) end(entered.error());
      return;
    }
    {
      MutexLock lock(mu_);
      joined_ = entered->id;
    }
    const auto followed = follow(*std::move(entered));
    if (followed.ok()) return;
    // Who has entered the group can be refused for the session alone, and the next one mends that.
    if (!passes(followed.error()) && followed.error().code != Code::permission_denied)
      return end(followed.error());
    if (!rest(kRest)) return;
  }
}

Result<groups::Group> GroupFollower::enter() {
  for (auto pause = kFirstRest;; pause = std::min(2 * pause, kRest)) {
    epoch_ = client_.status().epoch;
    auto entered = try_enter();
    if (entered.ok() || passes(entered.error())) {
      if (entered.ok()) return entered;
    } else {
      // Before the runtime has joined the coordinator, also anew, it is no client there.
      const Code code = entered.error().code;
      const bool denied = code == Code::permission_denied;
      const bool early = (denied || code == Code::failed_precondition) && !client_.connected();
      if (!early && !(denied && joined())) return entered;
    }
    if (!rest(pause)) return Error{Code::cancelled, "group: left"};
  }
}

Result<groups::Group> GroupFollower::try_enter() {
  const groups::Shape shape = shape_of(options_.shape);
  // The id of a group that this engine is in already is known: a later one of its name is another.
  std::optional<groups::GroupId> id = joined();
  if (!id) {
    AQUA_ASSIGN(const auto found, client_.create_group({options_.name,
                                                        {.prefill = pipeline_of(options_.prefill),
                                                         .decode = pipeline_of(options_.decode)},
                                                        shape,
                                                        true}));
    id = found.id;
    // A former part in it would take this one's place along.
    if (leaver_.leaves(*id)) return Error{Code::unavailable, "group: its last place is being left"};
    MutexLock lock(mu_);
    if (stopping_) return Error{Code::cancelled, "group: left"};
  }
  if (options_.observes)
    return or_again(client_.watch_group(*id, std::nullopt, std::chrono::milliseconds{0}));
  const auto rank = options_.rank ? std::optional(rank_of(*options_.rank)) : std::nullopt;
  auto entered = client_.join_group(*id, {options_.member, shape, rank});
  {
    // Without an answer it may have come in.
    MutexLock lock(mu_);
    const bool in_doubt = !entered.ok() && passes(entered.error());
    if (!joined_) perhaps_joined_ = in_doubt ? id : std::nullopt;
  }
  // Seated elsewhere meanwhile, or back in a term: it is in the group, which is all that counts.
  if (!entered.ok() && entered.error().code == Code::already_exists && joined())
    return client_.watch_group(*id, std::nullopt, std::chrono::milliseconds{0});
  return or_again(std::move(entered));
}

Result<groups::Group> GroupFollower::or_again(Result<groups::Group> entered) const {
  if (entered.ok() || entered.error().code != Code::not_found || joined()) return entered;
  return Error{Code::unavailable, std::move(entered).error().message};
}

Result<void> GroupFollower::follow(groups::Group group) {
  for (;;) {
    if (!options_.observes && !group.members.contains(self_))
      return Error{Code::aborted, concat("group \"", group.name, "\": no part in it any more")};
    tell(group);
    interrupt_.clear();
    {
      MutexLock lock(mu_);
      if (stopping_) return {};
    }
    AQUA_ASSIGN(const bool sent, send(group));
    if (client_.status().epoch != epoch_)
      return Error{Code::unavailable, "group: the coordinator has begun anew"};
    auto next = client_.watch_group(group.id, sent ? std::nullopt : std::optional(group.version),
                                    kPoll, &interrupt_);
    if (next.ok()) {
      group = *std::move(next);
    } else if (next.error().code != Code::cancelled) {
      return std::move(next).error();
    }
  }
}

Result<bool> GroupFollower::send(const groups::Group& group) {
  if (options_.observes) return false;
  std::optional<wire::AcknowledgeRequest> acknowledgement;
  bool has_resumed = false;
  const groups::Member& self = group.members.at(self_);
  {
    MutexLock lock(mu_);
    if (acknowledged_ && acknowledged_->term == group.term && acknowledges(group, self))
      acknowledgement = acknowledged_;
    has_resumed = resumed_ == group.term && resumes(group, self);
  }
  if (!acknowledgement && !has_resumed) return false;
  const auto sent = acknowledgement ? client_.acknowledge_term(group.id, *acknowledgement)
                                    : client_.group_resumed(group.id, group.term);
  // A term that is over by now is no error, and the next poll tells of it.
  if (sent.ok() || sent.error().code == Code::aborted ||
      sent.error().code == Code::failed_precondition)
    return true;
  return sent.error();
}

void GroupFollower::tell(const groups::Group& group) {
  if (told_ == group) return;  // a poll that ended, or something was said here
  told_ = group;
  GroupNews news = told(group, self_);
  {
    MutexLock lock(mu_);
    known_ = {group.id, group.term};
    const bool first_run = acts_in_ == 0 && group.state == groups::State::running;
    if (first_run || options_.observes) acts_in_ = group.term;
    news_ = news;
  }
  if (!options_.on_news) return;
  callbacks_.post([listener = listener_, on_news = options_.on_news, news = std::move(news)] {
    MutexLock lock(listener->mu);
    if (!listener->gone) on_news(news);
  });
}

void GroupFollower::end(const Error& why) {
  if (!options_.on_end) return;
  callbacks_.post([listener = listener_, on_end = options_.on_end, why] {
    MutexLock lock(listener->mu);
    if (!listener->gone) on_end(why);
  });
}

bool GroupFollower::rest(std::chrono::milliseconds pause) {
  const auto until = std::chrono::steady_clock::now() + pause;
  MutexLock lock(mu_);
  while (!stopping_ && std::chrono::steady_clock::now() < until) changed_.wait_until(mu_, until);
  return !stopping_;
}

Result<void> GroupFollower::of_this_term(groups::Term term) const {
  if (options_.observes)
    return Error{Code::failed_precondition, "group: one that observes has nothing to say"};
  if (term < known_.term) {
    return Error{Code::aborted, concat("group: term ", term, " is over, this is ", known_.term)};
  }
  if (term == known_.term && term != 0) return {};
  return Error{Code::invalid_argument, concat("group: term ", term, " was not told")};
}

Result<void> GroupFollower::acknowledge(groups::Term term, std::vector<groups::Watermark> marks) {
  MutexLock lock(mu_);
  AQUA_TRY(of_this_term(term));
  acts_in_ = term;
  if (!acknowledged_ || acknowledged_->term != term) acknowledged_ = {term, std::move(marks)};
  interrupt_.raise();
  return {};
}

Result<void> GroupFollower::resumed(groups::Term term) {
  MutexLock lock(mu_);
  AQUA_TRY(of_this_term(term));
  resumed_ = term;
  interrupt_.raise();
  return {};
}

Result<void> GroupFollower::check(std::string_view group, groups::Term term) const {
  AQUA_ASSIGN(const auto id, parse_id<groups::GroupTag>(group));
  MutexLock lock(mu_);
  if (known_.term == 0) return Error{Code::unavailable, "group: nothing is known of it yet"};
  return groups::check_term({id, term}, {known_.group, acts_in_});
}

GroupNews GroupFollower::news() const {
  MutexLock lock(mu_);
  return news_;
}

std::optional<groups::GroupId> GroupFollower::joined() const {
  MutexLock lock(mu_);
  return joined_;
}

std::optional<groups::GroupId> GroupFollower::place() const {
  if (options_.observes) return {};
  MutexLock lock(mu_);
  return joined_ ? joined_ : perhaps_joined_;
}

}  // namespace aqua::runtime
