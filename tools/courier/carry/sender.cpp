// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/sender.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "tools/courier/carry/await_news.hpp"
#include "tools/courier/carry/send_all.hpp"

namespace aqua::courier {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTakes = 256;  // of a parcel, by one keeper: as many turns
constexpr auto kLater = 1s;            // until what somebody else gives there has ended, perhaps
constexpr auto kRefused = 5s;          // until the other server has room again, perhaps

// 0: it answers none.
std::uint64_t offer_answered_by(const Message& message) {
  return std::visit(
      [](const auto& said) -> std::uint64_t {
        using Said = std::decay_t<decltype(said)>;
        constexpr bool is_answer = std::is_same_v<Said, Go> || std::is_same_v<Said, Stale> ||
                                   std::is_same_v<Said, Later> || std::is_same_v<Said, Landed> ||
                                   std::is_same_v<Said, Ended> || std::is_same_v<Said, Refused>;
        if constexpr (is_answer) return said.number;
        return 0;
      },
      message);
}

}  // namespace

void Sender::run() {
  do {
    const auto served = serve();
    if (served.error().code == Code::cancelled) return;
    lose_link();
    if (keeper_ && !keeper_->connected()) {
      keeper_.reset();
      taken_.clear();
    }
    const std::string& why = served.error().message;
    route_state_.failed(why);
    if (retries_.lost(why)) say_(Event::lost, why);
  } while (retries_.pause());
}

void Sender::lose_link() {
  if (!link_) return;
  route_state_.lost(!link_->is_over_tls());
  carrier_history_.lost(*link_);
  link_.reset();
  ++counters_.lost_links;
  for (auto& [number, taken] : taken_) {
    // If the other keeper has ended, a taker there may speak under a turn that the next keeper
    // would give again. What was only offered may have landed, too, and nobody has heard of it.
    taken.may_have_landed = taken.may_have_landed || taken.stage != Stage::waiting;
    taken.stage = Stage::waiting;
  }
}

Result<void> Sender::serve() {
  if (!keeper_) {
    AQUA_ASSIGN(KeeperSide side, KeeperSide::join(keeper_path_, route_.pool, route_.to,
                                                  ParcelBook::Courier{route_.from, route_.peer}));
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
    AQUA_TRY(tell_cut_off());
    AQUA_TRY(offer_next());
    AQUA_TRY(wait());
  }
}

Result<void> Sender::greet() {
  AQUA_ASSIGN(Link link, Link::connect(identity_, route_.address, route_.peer, stop_));
  CarrierOffer carrier(link, carrier_history_);
  AQUA_TRY(link.say(Hello{.pool = route_.pool,
                          .from = route_.from,
                          .to = route_.to,
                          .index = index_,
                          .ucx = carrier.point()}));
  AQUA_ASSIGN(const Link::Frame answer, link.receive());
  if (answer.message) {
    if (const auto* refused = std::get_if<Refused>(&*answer.message)) return sent_away(*refused);
  }
  const auto* welcome = answer.message ? std::get_if<Welcome>(&*answer.message) : nullptr;
  if (welcome == nullptr) {
    return Error{Code::invalid_argument, "courier: the other side does not say welcome"};
  }
  AQUA_ASSIGN(const std::string how, carrier.settle(link, *welcome));
  link.greeted(route_.patience);
  link_.emplace(std::move(link));
  retries_.connected();
  route_state_.connected(!link_->is_over_tls());
  say_(Event::connected, concat("connected to ", route_.peer, " at ", route_.address, how));
  return {};
}

Result<void> Sender::hear_keeper() {
  if (!std::exchange(may_wait_, false)) return {};
  AQUA_TRY(keeper_->clear_news());
  const auto in_hand = static_cast<std::uint32_t>(taken_.size());
  const std::uint32_t most = route_.parcels - std::min(in_hand, route_.parcels);
  AQUA_ASSIGN(auto heard, keeper_->ask(pool_wire::Accept{most}));
  for (Parcel& parcel : heard.parcels) {
    const std::uint64_t number = parcel.number;
    parcel.given = std::max<std::uint64_t>(parcel.given, 1);  // 0 would say nothing over there
    taken_[number] = {.parcel = std::move(parcel)};
  }
  // It is told once: all of it is done before anything is said, which may fail.
  std::vector<std::uint64_t> withdrawn;
  for (const ParcelNews& news : heard.told) {
    if (news.event == ParcelEvent::cut_off) {
      if (cut_off_.size() == kMostCutOff) cut_off_.pop_front();
      cut_off_.push_back(news.head);
    }
    const auto taken = taken_.find(news.number);
    if (news.event != ParcelEvent::taken_superseded || taken == taken_.end()) continue;
    if (taken->second.stage != Stage::waiting) withdrawn.push_back(taken->second.offer);
    AQUA_TRY(finish(taken));
  }
  may_wait_ = may_wait_ || (!heard.parcels.empty() && heard.waiting > 0);
  for (const std::uint64_t offer : withdrawn) AQUA_TRY(link_->say(Withdraw{offer}));
  return {};
}

Result<void> Sender::tell_cut_off() {
  for (; !cut_off_.empty(); cut_off_.pop_front()) AQUA_TRY(link_->say(CutOff{cut_off_.front()}));
  return {};
}

Clock::time_point Sender::next_offer() const {
  auto next = Clock::time_point::max();
  for (const auto& [number, taken] : taken_) {
    if (taken.stage == Stage::offered || taken.stage == Stage::sent) {
      return Clock::time_point::max();
    }
    if (taken.stage == Stage::waiting) next = std::min(next, taken.not_before);
  }
  return next;
}

Clock::time_point Sender::answer_due() const {
  auto due = Clock::time_point::max();
  for (const auto& [number, taken] : taken_) {
    if (taken.stage == Stage::sent) due = taken.sent_at + link_->patience();
  }
  return due;
}

Result<void> Sender::offer_next() {
  const auto due = next_offer();
  if (due > Clock::now()) return {};
  const auto next = std::ranges::find_if(taken_, [&](const auto& one) {
    return one.second.stage == Stage::waiting && one.second.not_before == due;
  });
  Taken& taken = next->second;
  if (taken.parcel.segment.number == 0 || taken.parcel.segment.bytes == 0) {
    say_(Event::parcel,
         concat("parcel ", taken.parcel.id, " has no bytes in a segment, and is not carried"));
    return put_off(next, kRefused);
  }
  if (std::exchange(taken.may_have_landed, false)) return renew(next, taken.parcel.turn + kTakes);
  step("offer");
  taken.stage = Stage::offered;
  taken.offer = ++last_offer_;
  return link_->say(Offer{taken.offer, taken.parcel});
}

Result<void> Sender::wait() {
  if (may_wait_) return {};
  const auto due = answer_due();
  AQUA_ASSIGN(const News news,
              await_news(*link_, keeper_->descriptors(), stop_, std::min(next_offer(), due)));
  may_wait_ = news.keeper;
  if (!news.frame) {
    if (Clock::now() < due) return {};
    return Error{Code::unavailable, "courier: no answer to what was sent"};
  }
  if (news.frame->message) return hear(*news.frame->message);
  return Error{Code::invalid_argument, "courier: bytes from who is to receive them"};
}

bool Sender::fits(const Message& message, Stage stage) {
  if (std::holds_alternative<Go>(message)) return stage == Stage::offered;
  if (std::holds_alternative<Ended>(message)) return true;
  return stage == Stage::offered || stage == Stage::sent;
}

Result<void> Sender::hear(const Message& message) {
  if (const auto* refused = std::get_if<Refused>(&message); refused && refused->number == 0) {
    return sent_away(*refused);
  }
  const std::uint64_t offer = offer_answered_by(message);
  if (offer == 0 || offer > last_offer_) {
    return Error{Code::invalid_argument, "courier: what is no answer to an offer"};
  }
  const auto taken = std::ranges::find_if(taken_, [&](const auto& one) {
    return one.second.offer == offer && one.second.stage != Stage::waiting;
  });
  if (taken == taken_.end()) return {};  // it was withdrawn, or put off
  if (!fits(message, taken->second.stage)) {
    return Error{Code::invalid_argument, "courier: an answer out of turn"};
  }
  if (std::holds_alternative<Go>(message)) return send(taken);
  if (const auto* stale = std::get_if<Stale>(&message)) return renew(taken, stale->turn);
  if (std::holds_alternative<Later>(message)) return put_off(taken, kLater);
  if (const auto* ended = std::get_if<Ended>(&message)) return finish(taken, ended->what);
  if (std::holds_alternative<Landed>(message)) {
    taken->second.stage = Stage::landed;
    ++counters_.sent;
    return {};
  }
  if (const auto* refused = std::get_if<Refused>(&message)) {
    ++counters_.refused;
    say_(Event::parcel, concat("parcel ", taken->second.parcel.id, ": ", refused->error.message));
    return put_off(taken, kRefused);
  }
  return {};
}

Result<void> Sender::send(At taken) {
  const SegmentName name = taken->second.parcel.segment;
  const auto memory = keeper_->segments().read(name);
  if (!memory.ok()) {
    if (!keeper_->connected()) return memory.error();
    say_(Event::parcel, concat("parcel ", taken->second.parcel.id, ": ", memory.error().message));
    const std::uint64_t offer = taken->second.offer;
    AQUA_TRY(put_off(taken, kRefused));
    return link_->say(Withdraw{offer});
  }
  step("send");
  auto sent =
      send_all(*link_, memory->bytes().first(name.bytes), route_state_, counters_.sent_bytes);
  AQUA_TRY(keeper_->segments().close(name));
  taken->second.stage = Stage::sent;
  taken->second.sent_at = Clock::now();
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
    if (!keeper_->connected()) return renewed.error();
    // Superseded, it has been told by now, or will be.
    if (renewed.error().code != Code::aborted) say_(Event::parcel, renewed.error().message);
    return put_off(taken, kRefused);
  }
  taken->second.parcel.turn = renewed->turn;
  return {};
}

Result<void> Sender::finish(At taken, ParcelEvent what) {
  step("finish");
  const auto finished = keeper_->ask(pool_wire::Finish{taken->first, what});
  if (!finished.ok() && !keeper_->connected()) return finished.error();
  if (!finished.ok()) say_(Event::parcel, finished.error().message);
  const std::string from = taken->second.parcel.from;
  taken_.erase(taken);
  AQUA_TRY(keeper_->ask(pool_wire::Admit{from, 1}));
  may_wait_ = true;
  return {};
}

}  // namespace aqua::courier
