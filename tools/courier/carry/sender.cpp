// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/sender.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"

namespace aqua::courier {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLater = 1s;    // until what somebody else gives there has ended, perhaps
constexpr auto kRefused = 5s;  // until the other server has room again, perhaps
// Before the next connection.
constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{5000};

Error sent_away(const Refused& said) {
  return Error{Code::unavailable, concat("the other side ends it: ", said.error.message)};
}

}  // namespace

void Sender::run() {
  auto pause_for = kFirstPause;
  std::string said;
  for (;;) {
    const auto served = serve();
    if (served.error().code == Code::cancelled) return;
    // A link that was up begins anew.
    if (link_) {
      pause_for = kFirstPause;
      said.clear();
    }
    lose_link();
    if (keeper_ && !keeper_->connected()) {
      keeper_.reset();
      taken_.clear();
    }
    if (served.error().message != said) say_(said = served.error().message);
    if (!pause(pause_for)) return;
    pause_for = std::min(2 * pause_for, kLongestPause);
  }
}

bool Sender::pause(std::chrono::milliseconds time) const {
  pollfd stopped{stop_, POLLIN, 0};
  return ::poll(&stopped, 1, static_cast<int>(time.count())) == 0;
}

void Sender::lose_link() {
  if (!link_) return;
  link_.reset();
  --counters_.links;
  ++counters_.lost_links;
  for (auto& [number, taken] : taken_) taken.stage = Stage::waiting;
}

Result<void> Sender::serve() {
  if (!keeper_) {
    AQUA_ASSIGN(KeeperSide side, KeeperSide::join(keeper_path_, route_.pool, route_.to));
    keeper_.emplace(std::move(side));
    admitted_ = false;
    may_wait_ = true;
  }
  AQUA_TRY(greet());
  if (!std::exchange(admitted_, true)) {
    AQUA_TRY(keeper_->ask(pool_wire::Admit{route_.from, route_.parcels}));
  }
  for (;;) {
    AQUA_TRY(hear_keeper());
    AQUA_TRY(offer_next());
    AQUA_TRY(wait());
  }
}

Result<void> Sender::greet() {
  AQUA_ASSIGN(Link link, Link::connect(identity_, route_.address, route_.peer, stop_));
  AQUA_TRY(
      link.say(Hello{.pool = route_.pool, .from = route_.from, .to = route_.to, .index = index_}));
  AQUA_ASSIGN(const Link::Frame answer, link.receive());
  if (answer.message) {
    if (const auto* refused = std::get_if<Refused>(&*answer.message)) return sent_away(*refused);
  }
  if (!answer.message || !std::holds_alternative<Welcome>(*answer.message)) {
    return Error{Code::invalid_argument, "courier: the other side does not say welcome"};
  }
  link_.emplace(std::move(link));
  ++counters_.links;
  say_(concat("connected to ", route_.peer, " at ", route_.address));
  return {};
}

Result<void> Sender::hear_keeper() {
  if (!std::exchange(may_wait_, false)) return {};
  keeper_->clear_news();
  const auto in_hand = static_cast<std::uint32_t>(taken_.size());
  const std::uint32_t most = route_.parcels - std::min(in_hand, route_.parcels);
  AQUA_ASSIGN(auto heard, keeper_->ask(pool_wire::Accept{most}));
  for (Parcel& parcel : heard.parcels) {
    const std::uint64_t number = parcel.number;
    parcel.given = std::max<std::uint64_t>(parcel.given, 1);  // 0 would say nothing over there
    taken_[number] = {.parcel = std::move(parcel)};
  }
  for (const ParcelNews& news : heard.told) {
    const auto taken = taken_.find(news.number);
    if (news.event != ParcelEvent::taken_superseded || taken == taken_.end()) continue;
    if (taken->second.stage != Stage::waiting) AQUA_TRY(link_->say(Withdraw{news.number}));
    AQUA_TRY(finish(taken));
  }
  may_wait_ = !heard.parcels.empty() && heard.waiting > 0;
  return {};
}

Result<void> Sender::offer_next() {
  const auto now = Clock::now();
  const auto next = std::ranges::find_if(taken_, [&](const auto& one) {
    return one.second.stage == Stage::waiting && one.second.not_before <= now;
  });
  const bool under_way = std::ranges::any_of(
      taken_, [](const auto& one) { return one.second.stage == Stage::offered; });
  if (next == taken_.end() || under_way) return {};
  if (next->second.parcel.segment.number == 0) {
    say_(concat("parcel ", next->first, " has no segment: what it names cannot be carried"));
    return put_off(next, kRefused);
  }
  step("offer");
  next->second.stage = Stage::offered;
  return link_->say(Offer{next->second.parcel});
}

Result<void> Sender::wait() {
  if (may_wait_) return {};
  if (!link_->has_bytes()) {
    auto until = Clock::time_point::max();
    for (const auto& [number, taken] : taken_) {
      if (taken.stage == Stage::waiting && taken.not_before > Clock::now()) {
        until = std::min(until, taken.not_before);
      }
    }
    int patience = -1;
    if (until != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      patience = std::max(0, static_cast<int>(left.count()));
    }
    std::vector<pollfd> watched{{stop_, POLLIN, 0}, {link_->descriptor(), POLLIN, 0}};
    for (const int fd : keeper_->descriptors()) watched.push_back({fd, POLLIN, 0});
    (void)::poll(watched.data(), watched.size(), patience);
    if (watched[0].revents != 0) return Error{Code::cancelled, "courier: stopping"};
    may_wait_ = std::any_of(watched.begin() + 2, watched.end(),
                            [](const pollfd& one) { return one.revents != 0; });
    if (watched[1].revents == 0) return {};
  }
  AQUA_ASSIGN(const Link::Frame frame, link_->receive());
  if (frame.message) return hear(*frame.message);
  return Error{Code::invalid_argument, "courier: bytes from who is to receive them"};
}

Result<void> Sender::hear(const Message& message) {
  if (const auto* refused = std::get_if<Refused>(&message); refused && refused->number == 0) {
    return sent_away(*refused);
  }
  const std::uint64_t number = std::visit(
      [](const auto& said) -> std::uint64_t {
        if constexpr (requires { said.number; }) return said.number;
        return 0;
      },
      message);
  const auto taken = taken_.find(number);
  if (taken == taken_.end()) return {};  // it was withdrawn
  if (std::holds_alternative<Go>(message)) return send(taken->second.parcel);
  if (const auto* stale = std::get_if<Stale>(&message)) return renew(taken, stale->turn);
  if (std::holds_alternative<Later>(message)) return put_off(taken, kLater);
  if (std::holds_alternative<Ended>(message)) return finish(taken);
  if (std::holds_alternative<Landed>(message)) {
    taken->second.stage = Stage::landed;
    ++counters_.sent;
    return {};
  }
  if (const auto* refused = std::get_if<Refused>(&message)) {
    ++counters_.refused;
    say_(concat("parcel ", taken->second.parcel.id, ": ", refused->error.message));
    return put_off(taken, kRefused);
  }
  return Error{Code::invalid_argument, "courier: what only who sends may say"};
}

Result<void> Sender::send(const Parcel& parcel) {
  AQUA_ASSIGN(const MappedFile memory, keeper_->read(parcel.segment));
  step("send");
  const auto sent = link_->send(memory.bytes().first(parcel.segment.bytes));
  AQUA_TRY(keeper_->close(parcel.segment));
  if (sent.ok()) counters_.sent_bytes += parcel.segment.bytes;
  return sent;
}

Result<void> Sender::put_off(At taken, std::chrono::milliseconds by) {
  taken->second.stage = Stage::waiting;
  taken->second.not_before = Clock::now() + by;
  return {};
}

Result<void> Sender::renew(At taken, std::uint64_t above) {
  taken->second.stage = Stage::waiting;
  const auto renewed = keeper_->ask(pool_wire::Renew{taken->first, above});
  if (!renewed.ok()) {
    may_wait_ = true;  // superseded, it will be told; else there is no keeper
    return keeper_->connected() ? put_off(taken, kRefused) : renewed.error();
  }
  taken->second.parcel.turn = renewed->turn;
  return {};
}

Result<void> Sender::finish(At taken) {
  step("finish");
  const Parcel parcel = std::move(taken->second.parcel);
  taken_.erase(taken);
  AQUA_TRY(keeper_->ask(pool_wire::Finish{parcel.number}));
  AQUA_TRY(keeper_->ask(pool_wire::Admit{parcel.from, 1}));
  may_wait_ = true;
  return {};
}

}  // namespace aqua::courier
