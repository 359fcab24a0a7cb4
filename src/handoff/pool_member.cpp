// SPDX-License-Identifier: Apache-2.0
#include "handoff/pool_member.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/step.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

// So many blocks at most are named in a request or an answer.
constexpr std::size_t kMostNamed = pool_wire::kMostNamedBlocks;

}  // namespace

Result<std::unique_ptr<PoolMember>> PoolMember::start(PoolClient keeper, UniqueFd wake,
                                                      const Part& part) {
  AQUA_ASSIGN(auto link, KeeperLink::make(keeper.descriptor(), std::move(wake)));
  std::unique_ptr<PoolMember> member;
  const auto begun = with_threads("pool", [&] {
    member.reset(new PoolMember(std::move(keeper), std::move(link), part));
    return member->begin();
  });
  if (begun.ok()) return member;
  // Who is gone with blocks has them until its process ends.
  if (member != nullptr) member->leave();
  return begun.error();
}

PoolMember::PoolMember(PoolClient keeper, std::unique_ptr<KeeperLink> link, const Part& part)
    : keeper_(std::move(keeper)),
      link_(std::move(link)),
      reserve_(part.reserve),
      news_(part.news),
      mine_(part.blocks),
      marked_([this](Pending pending, const StreamMark& mark, const Result<void>& outcome) {
        reached(std::move(pending), mark, outcome);
      }) {}

Result<void> PoolMember::begin() {
  if (reserve_ > 0) {
    const auto first = static_cast<std::uint32_t>(std::min<std::size_t>(reserve_, kMostNamed));
    AQUA_ASSIGN(const auto answer, keeper_.call(pool_wire::Grant{first}));
    const MutexLock lock(mu_);
    mine_.idle(answer.reply.blocks);
  }
  link_->start({.turn = [this](bool ending) { return turn(ending); },
                .woken = [this] { woken(); },
                .closed =
                    [this] {
                      const MutexLock lock(mu_);
                      disconnect("the keeper has closed");
                    }});
  return {};
}

Result<void> PoolMember::check_connected() const {
  if (connected_) return {};
  return Error{Code::unavailable, concat("pool: ", error_.text())};
}

void PoolMember::post(StreamMark mark, std::variant<Released, HandedOver, pool_wire::Finish> work) {
  marked_.post(std::move(mark), {std::move(work), told_.now()});
}

void PoolMember::post(Ask ask) {
  due_.push_back(std::move(ask));
  link_->kick();
}

template <typename Request>
void PoolMember::post_about(BlockList blocks) {
  for (std::size_t i = 0; i < blocks.size(); i += kMostNamed) {
    const BlockList part = blocks.subspan(i, std::min(kMostNamed, blocks.size() - i));
    post(pool_wire::PoolRequest(Request{Blocks(part.begin(), part.end())}));
  }
}

Result<Blocks> PoolMember::allocate(std::size_t count) {
  const MutexLock lock(mu_);
  const bool came = lacking() == 0;
  const std::size_t before = wanted_blocks_;
  auto blocks = mine_.allocate(count);
  if (!blocks.ok()) {
    if (count <= mine_.blocks()) wanted_blocks_ = count;
  } else if (count == 0) {
    wanted_blocks_ = 0;
  } else if (came) {  // smaller calls use it up, and do not have it fetched anew
    wanted_blocks_ -= std::min(count, wanted_blocks_);
  }
  const bool is_news = !blocks.ok() || (before != 0 && wanted_blocks_ == 0);
  if (is_news) starved_ = false;
  if (is_news || mine_.idle_blocks() < reserve_ / 2) link_->kick();
  return blocks;
}

Result<void> PoolMember::release(BlockList blocks, StreamMark mark) {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(Released released, mine_.release(blocks));
  post(std::move(mark), std::move(released));
  return {};
}

Result<void> PoolMember::share(BlockList blocks) {
  const MutexLock lock(mu_);
  AQUA_TRY(mine_.share(blocks));
  post_about<pool_wire::Share>(blocks);
  return {};
}

Result<void> PoolMember::hand_over(Parcel parcel, const std::string& role, StreamMark mark) {
  AQUA_TRY(pool_wire::check_bytes(parcel));
  const MutexLock lock(mu_);
  AQUA_TRY(check_connected());
  AQUA_ASSIGN(HandedOver handed, give_away(std::move(parcel), role));
  begin_giving(handed.parcel.id);
  post(std::move(mark), std::move(handed));
  return {};
}

std::vector<Undelivered> PoolMember::undelivered() {
  const MutexLock lock(mu_);
  told_.tell(std::exchange(undelivered_failures_, {}));
  return std::exchange(undelivered_, {});
}

std::vector<Parcel> PoolMember::accept(std::size_t most) {
  const MutexLock lock(mu_);
  std::vector<Parcel> parcels;
  for (auto ready = ready_.begin(); parcels.size() < most && ready != ready_.end();) {
    if (giving_.contains(ready->id)) {
      ++ready;
      continue;
    }
    mine_.taken(*ready);
    parcels.push_back(std::move(*ready));
    ready = ready_.erase(ready);
  }
  wanted_ = most;
  if (may_wait_ && ready_.size() < wanted_) link_->kick();
  return parcels;
}

Result<void> PoolMember::finish(std::uint64_t number, StreamMark mark, ParcelEvent what) {
  const MutexLock lock(mu_);
  AQUA_TRY(mine_.finish(number));
  post(std::move(mark), pool_wire::Finish{number, what});
  return {};
}

KvPoolStatus PoolMember::status() const {
  const MutexLock lock(mu_);
  return {.connected = connected_,
          .error = error_.text(),
          .idle = mine_.idle_blocks(),
          .used = mine_.used_blocks(),
          .taken = mine_.parcels(),
          .ready = ready_.size(),
          .waiting = waiting_};
}

void PoolMember::stop() {
  marked_.stop();
  link_->stop();
}

void PoolMember::leave() {
  if (keeper_.connected()) (void)keeper_.call(pool_wire::Leave{});
}

void PoolMember::reached(Pending pending, const StreamMark& mark, const Result<void>& outcome) {
  const MutexLock lock(mu_);
  if (auto* const released = std::get_if<Released>(&pending.work)) {
    mine_.idle(released->own);
    post_about<pool_wire::GiveBack>(released->shared);
    link_->kick();  // there may be more than the reserve now
    news_->tell();
  } else if (auto* const handed = std::get_if<HandedOver>(&pending.work)) {
    const std::uint64_t failure = mark.latest_failure();
    if (outcome.ok() && !told_.concerns(failure, pending.told)) {
      post(std::move(*handed));
      return;
    }
    if (failure != 0) {
      (handed->given == 0 ? undelivered_failures_ : delivery_failures_).push_back(failure);
    }
    failed(*handed,
           outcome.ok() ? Error{Code::data_loss, "pool: work before it on its stream has failed"}
                        : outcome.error(),
           /*in_doubt=*/false);
  } else {
    post(pool_wire::PoolRequest(std::get<pool_wire::Finish>(pending.work)));
  }
}

KeeperLink::Turn PoolMember::turn(bool ending) {
  std::optional<Ask> ask_next;
  {
    const MutexLock lock(mu_);
    ask_next = next(ending);
    if (!ask_next) return connected_ ? KeeperLink::Turn::idle : KeeperLink::Turn::disconnected;
  }
  std::visit([this](const auto& what) { ask(what); }, *ask_next);
  return KeeperLink::Turn::asked;
}

void PoolMember::woken() {
  const MutexLock lock(mu_);
  may_wait_ = true;
  may_hear_ = true;
  starved_ = false;
}

std::optional<PoolMember::Ask> PoolMember::next(bool ending) {
  if (!due_.empty()) {
    Ask first = std::move(due_.front());
    due_.pop_front();
    return first;
  }
  if (!connected_ || ending) return std::nullopt;
  const std::size_t idle = mine_.idle_blocks();
  const std::size_t least = lacking();
  const bool is_short = least != 0 || 2 * idle < reserve_;
  if (!starved_ && (is_short || queued_)) {
    const std::size_t more = is_short ? std::max(reserve_, wanted_blocks_) - idle : 0;
    return pool_wire::PoolRequest(
        pool_wire::Grant{.most = static_cast<std::uint32_t>(std::min(more, kMostNamed)),
                         .least = static_cast<std::uint32_t>(least)});
  }
  if (may_hear_ || (may_wait_ && ready_.size() < wanted_)) {
    may_hear_ = false;
    return pool_wire::PoolRequest(
        pool_wire::Accept{static_cast<std::uint32_t>(wanted_ - std::min(wanted_, ready_.size()))});
  }
  // While blocks do not suffice only the reserve stays: another member may wait for the others.
  const Blocks surplus = mine_.surplus(2 * reserve_ + (least == 0 ? wanted_blocks_ : 0));
  if (surplus.empty()) return std::nullopt;
  starved_ = false;  // more is lacking then
  post_about<pool_wire::GiveBack>(surplus);
  return next(ending);
}

Result<PoolClient::Answer> PoolMember::call(const pool_wire::PoolRequest& request) {
  auto answer = link_->ask([&] { return keeper_.call(request, {}, KeeperLink::kWithoutEnd); });
  const MutexLock lock(mu_);
  if (answer.ok()) {
    error_.granted(request.index());
  } else if (!keeper_.connected()) {
    disconnect(answer.error().message);
  } else if (!std::holds_alternative<pool_wire::Recall>(request)) {  // what was taken, or has ended
    error_.refused(request.index(), answer.error().message);
  }
  return answer;
}

void PoolMember::ask(const pool_wire::PoolRequest& request) {
  if (std::holds_alternative<pool_wire::Accept>(request)) step("accept");
  const auto answer = call(request);
  const MutexLock lock(mu_);
  // What was refused is not asked for again before the keeper wakes us or the engine asks again,
  // unless it has become something else meanwhile.
  if (const auto* const grant = std::get_if<pool_wire::Grant>(&request)) {
    queued_ = !answer.ok() || answer->reply.blocks.size() < grant->most;
    starved_ = queued_ && lacking() == grant->least;
  }
  if (std::holds_alternative<pool_wire::Accept>(request)) {
    waiting_ = answer.ok() ? answer->reply.waiting : 0;
    may_wait_ = waiting_ != 0;
  }
  if (!answer.ok()) return;
  const pool_wire::PoolReply& reply = answer->reply;
  mine_.idle(reply.blocks);
  ready_.insert(ready_.end(), reply.parcels.begin(), reply.parcels.end());
  if (!reply.unread.empty()) {
    error_.lasts(concat("something that came cannot be read: ", reply.unread));
  }
  for (const ParcelNews& told : reply.told) hear(told);
  if (!reply.blocks.empty() || !reply.parcels.empty()) news_->tell();
}

}  // namespace aqua
