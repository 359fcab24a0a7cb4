// SPDX-License-Identifier: Apache-2.0
#include "handoff/pool_member.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"

namespace aqua {
namespace {

// The keeper may be stopped, which is not the end of it; when it ends, the call does too.
constexpr std::chrono::hours kForever{24 * 365};
// So many blocks at most are named in a request or an answer.
constexpr std::size_t kMostNamed = pool_wire::kMostNamedBlocks;
// For which stop() waits for the keeper's last answers.
constexpr std::chrono::seconds kLastWords{5};

}  // namespace

Result<std::unique_ptr<PoolMember>> PoolMember::start(PoolClient keeper, UniqueFd wake,
                                                      const Part& part) {
  // The connection is shut down from another thread than the one that closes it after an error: by
  // a descriptor of its own, whose number cannot be another file's by then.
  UniqueFd socket(::fcntl(keeper.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!socket.valid()) return errno_error("pool: connection");
  AQUA_ASSIGN(UniqueFd kick, make_wake_event());
  return std::unique_ptr<PoolMember>(
      new PoolMember(std::move(keeper), std::move(socket), std::move(wake), std::move(kick), part));
}

PoolMember::PoolMember(PoolClient keeper, UniqueFd socket, UniqueFd wake, UniqueFd kick,
                       const Part& part)
    : keeper_(std::move(keeper)),
      socket_(std::move(socket)),
      wake_(std::move(wake)),
      kick_(std::move(kick)),
      reserve_(part.reserve),
      news_(part.news),
      mine_(part.blocks) {
  mine_.idle(part.granted);
  marks_ = std::thread([this] { run_marks(); });
  link_ = std::thread([this] { run_link(); });
}

Result<void> PoolMember::check_connected() const {
  if (connected_) return {};
  return Error{Code::unavailable, concat("pool: ", error_)};
}

void PoolMember::post(StreamMark mark, std::variant<Released, HandedOver, pool_wire::Finish> work) {
  pending_.push_back({std::move(mark), std::move(work), told_.now()});
  marks_changed_.notify_one();
}

void PoolMember::post(Ask ask) {
  due_.push_back(std::move(ask));
  signal_event(kick_.get());
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
  auto blocks = mine_.allocate(count);
  wanted_blocks_ = blocks.ok() ? 0 : count;
  if (!blocks.ok() || mine_.idle_blocks() < reserve_ / 2) signal_event(kick_.get());
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
  AQUA_ASSIGN(HandedOver handed, mine_.hand_over(std::move(parcel), role));
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
  if (may_wait_ && ready_.size() < wanted_) signal_event(kick_.get());
  return parcels;
}

Result<void> PoolMember::finish(std::uint64_t number, StreamMark mark) {
  const MutexLock lock(mu_);
  AQUA_TRY(mine_.finish(number));
  post(std::move(mark), pool_wire::Finish{number});
  return {};
}

KvPoolStatus PoolMember::status() const {
  const MutexLock lock(mu_);
  return {.connected = connected_,
          .error = error_,
          .idle = mine_.idle_blocks(),
          .used = mine_.used_blocks(),
          .taken = mine_.parcels(),
          .ready = ready_.size(),
          .waiting = waiting_};
}

void PoolMember::stop() {
  if (marks_.joinable()) {
    {
      const MutexLock lock(mu_);
      marks_end_ = true;
      marks_changed_.notify_one();
    }
    marks_.join();
  }
  if (!link_.joinable()) return;
  {
    const auto deadline = std::chrono::steady_clock::now() + kLastWords;
    const MutexLock lock(mu_);
    link_ends_ = true;
    signal_event(kick_.get());
    while (!link_has_ended_) {
      if (link_ended_.wait_until(mu_, deadline)) continue;
      if (connected_) ::shutdown(socket_.get(), SHUT_RDWR);
      break;
    }
  }
  link_.join();
}

void PoolMember::leave() {
  if (keeper_.connected()) (void)keeper_.call(pool_wire::Leave{});
}

void PoolMember::run_marks() {
  for (;;) {
    std::optional<Pending> pending;
    {
      const MutexLock lock(mu_);
      while (pending_.empty() && !marks_end_) marks_changed_.wait(mu_);
      if (pending_.empty()) return;
      pending = std::move(pending_.front());
      pending_.pop_front();
    }
    const auto outcome = pending->mark.wait();
    reached(std::move(*pending), outcome);
  }
}

void PoolMember::reached(Pending pending, const Result<void>& outcome) {
  const MutexLock lock(mu_);
  if (auto* const released = std::get_if<Released>(&pending.work)) {
    mine_.idle(released->own);
    post_about<pool_wire::GiveBack>(released->shared);
    signal_event(kick_.get());  // there may be more than the reserve now
    news_->tell();
  } else if (auto* const handed = std::get_if<HandedOver>(&pending.work)) {
    const std::uint64_t failure = pending.mark.latest_failure();
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

void PoolMember::run_link() {
  for (;;) {
    std::optional<Ask> ask_next;
    bool connected = false;
    {
      const MutexLock lock(mu_);
      ask_next = next();
      connected = connected_;
      if (!ask_next && link_ends_) {
        link_has_ended_ = true;
        link_ended_.notify_all();
        return;
      }
    }
    if (ask_next) {
      std::visit([this](const auto& what) { ask(what); }, *ask_next);
      continue;
    }
    std::array<pollfd, 3> polled{{{kick_.get(), POLLIN, 0},
                                  {connected ? wake_.get() : -1, POLLIN, 0},
                                  {connected ? socket_.get() : -1, POLLIN | POLLRDHUP, 0}}};
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;  // EINTR
    if (polled[0].revents != 0) clear_event(kick_.get());
    if (polled[1].revents != 0) {
      clear_event(wake_.get());
      const MutexLock lock(mu_);
      may_wait_ = true;
      may_hear_ = true;
      starved_ = false;
    }
    if (polled[2].revents != 0) {  // nothing comes unasked but the end
      const MutexLock lock(mu_);
      disconnect("the keeper has closed");
    }
  }
}

std::optional<PoolMember::Ask> PoolMember::next() {
  if (!due_.empty()) {
    Ask first = std::move(due_.front());
    due_.pop_front();
    return first;
  }
  if (!connected_ || link_ends_) return std::nullopt;
  const std::size_t idle = mine_.idle_blocks();
  const std::size_t aim = std::max(reserve_, wanted_blocks_);
  if (!starved_ && (idle < wanted_blocks_ || 2 * idle < reserve_)) {
    return pool_wire::PoolRequest(
        pool_wire::Grant{static_cast<std::uint32_t>(std::min(aim - idle, kMostNamed))});
  }
  if (may_hear_ || (may_wait_ && ready_.size() < wanted_)) {
    may_hear_ = false;
    return pool_wire::PoolRequest(
        pool_wire::Accept{static_cast<std::uint32_t>(wanted_ - std::min(wanted_, ready_.size()))});
  }
  const Blocks surplus = mine_.surplus(2 * reserve_ + wanted_blocks_);
  if (surplus.empty()) return std::nullopt;
  post_about<pool_wire::GiveBack>(surplus);
  return next();
}

Result<PoolClient::Answer> PoolMember::call(const pool_wire::PoolRequest& request) {
  auto answer = keeper_.call(request, {}, kForever);
  if (answer.ok()) return answer;
  const MutexLock lock(mu_);
  if (!keeper_.connected()) {
    disconnect(answer.error().message);
  } else {
    error_ = answer.error().message;
  }
  return answer;
}

void PoolMember::ask(const pool_wire::PoolRequest& request) {
  if (std::holds_alternative<pool_wire::Accept>(request)) step("accept");
  const auto answer = call(request);
  const MutexLock lock(mu_);
  // What was refused is not asked for again before the keeper wakes us.
  if (const auto* const grant = std::get_if<pool_wire::Grant>(&request)) {
    starved_ = !answer.ok() || answer->reply.blocks.size() < grant->most;
  }
  if (std::holds_alternative<pool_wire::Accept>(request)) {
    waiting_ = answer.ok() ? answer->reply.waiting : 0;
    may_wait_ = waiting_ != 0;
  }
  if (!answer.ok()) return;
  const pool_wire::PoolReply& reply = answer->reply;
  mine_.idle(reply.blocks);
  ready_.insert(ready_.end(), reply.parcels.begin(), reply.parcels.end());
  for (const ParcelNews& told : reply.told) hear(told);
  if (!reply.blocks.empty() || !reply.parcels.empty()) news_->tell();
}

}  // namespace aqua
