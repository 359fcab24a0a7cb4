// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/receiver.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "base/xxh3.hpp"
#include "tools/courier/carry/await_news.hpp"

namespace aqua::courier {
namespace {

using Clock = std::chrono::steady_clock;

template <typename... What>
Error out_of_turn(const What&... what) {
  return Error{Code::invalid_argument, concat("courier: ", what...)};
}

}  // namespace

Result<void> Receiver::serve() {
  for (;;) {
    const bool bytes_are_due = incoming_ && incoming_->segment;
    const auto until = bytes_are_due ? Clock::now() + link_.patience() : Clock::time_point::max();
    AQUA_ASSIGN(const News news, await_news(link_, keeper_.descriptors(), stop_, until));
    if (news.keeper) AQUA_TRY(hear_keeper());
    if (news.late) {
      return Error{Code::unavailable, "courier: bytes that were offered do not come"};
    }
    if (!news.frame) continue;
    AQUA_TRY(news.frame->message ? hear(*news.frame->message) : read(news.frame->length));
  }
}

Result<void> Receiver::hear(const Message& message) {
  if (const auto* offer = std::get_if<Offer>(&message)) return hear(*offer);
  if (const auto* withdraw = std::get_if<Withdraw>(&message)) return hear(*withdraw);
  if (const auto* cut_off = std::get_if<CutOff>(&message)) return hear(*cut_off);
  return out_of_turn("what only who receives may say");
}

Result<void> Receiver::hear(const Offer& offer) {
  if (incoming_) return out_of_turn("a parcel is offered while another one is on its way");
  const Parcel& parcel = offer.parcel;
  const std::uint64_t number = offer.number;
  step("open");
  const auto opened = keeper_.ask(pool_wire::Open{.role = hello_.to,
                                                  .head = {parcel.id, parcel.turn},
                                                  .needs_room = true,
                                                  .since = parcel.given});
  if (!opened.ok()) {
    if (!keeper_.connected()) return opened.error();
    if (opened.error().code == Code::already_exists) return link_.say(Ended{number});
    if (opened.error().code == Code::cancelled) {
      return link_.say(Ended{number, ParcelEvent::superseded});
    }
    if (opened.error().code == Code::aborted) return link_.say(Later{number});
    return link_.say(Refused{number, opened.error()});
  }
  if (opened->closed) {
    landed_[opened->number] = number;
    ++counters_.resumed;
    return link_.say(Landed{number});
  }
  if (opened->number == 0) return link_.say(Stale{number, opened->turn});
  incoming_ = Incoming{.offer = number, .parcel = parcel, .at_keeper = opened->number};
  return opened->open ? begin() : Result<void>{};
}

Result<void> Receiver::hear(const Withdraw& said) {
  if (!incoming_ || incoming_->offer != said.number) return {};  // it has landed
  const auto recalled = keeper_.ask(pool_wire::Recall{incoming_->at_keeper});
  drop_incoming();
  return keeper_.connected() ? Result<void>{} : recalled.error();
}

Result<void> Receiver::hear(const CutOff& said) {
  const auto told = keeper_.ask(pool_wire::TellCutOff{hello_.to, said.head});
  return keeper_.connected() ? Result<void>{} : told.error();  // what cannot be is told nobody
}

Result<void> Receiver::hear_keeper() {
  AQUA_TRY(keeper_.clear_news());
  AQUA_ASSIGN(const auto heard, keeper_.ask(pool_wire::Accept{0}));
  for (const ParcelNews& news : heard.told) AQUA_TRY(hear(news));
  return {};
}

Result<void> Receiver::hear(const ParcelNews& news) {
  if (incoming_ && news.number == incoming_->at_keeper) {
    if (news.event == ParcelEvent::opened) return begin();
    // By a higher turn, which is not complete; or by name.
    const std::uint64_t number = incoming_->offer;
    drop_incoming();
    if (news.event == ParcelEvent::superseded) return link_.say(Later{number});
    return link_.say(Ended{number, news.event});
  }
  const auto landed = landed_.find(news.number);
  if (landed == landed_.end()) return {};
  const std::uint64_t number = landed->second;
  landed_.erase(landed);
  return link_.say(Ended{number, news.event});
}

Result<void> Receiver::begin() {
  auto segment = keeper_.segments().take(incoming_->parcel.segment.bytes);
  if (!segment.ok()) return refuse(segment.error());
  incoming_->segment = *segment;
  return link_.say(Go{incoming_->offer});
}

Result<void> Receiver::read(std::size_t bytes) {
  // It may have been superseded here while its bytes were on their way.
  std::vector<std::byte> nowhere;
  std::span<std::byte> into;
  if (incoming_ && incoming_->segment) {
    if (bytes > incoming_->parcel.segment.bytes - incoming_->got) {
      return out_of_turn("more bytes than were offered");
    }
    into = incoming_->segment->bytes.subspan(incoming_->got, bytes);
  } else {
    nowhere.resize(bytes);
    into = nowhere;
  }
  AQUA_TRY(link_.read(into));
  counters_.received_bytes += bytes;
  if (nowhere.empty()) {
    incoming_->got += bytes;
    if (incoming_->got == incoming_->parcel.segment.bytes) return land();
  }
  return {};
}

Result<void> Receiver::land() {
  const Incoming& done = *incoming_;
  const SegmentName& name = done.parcel.segment;
  const bool said = std::ranges::any_of(name.digest, [](std::uint8_t byte) { return byte != 0; });
  if (said && xxh3_of(done.segment->bytes.first(name.bytes)) != name.digest) {
    return refuse({Code::data_loss,
                   concat("parcel ", done.parcel.id, ": its bytes are not those of their digest")});
  }
  const auto committed = keeper_.segments().commit({.number = done.segment->number,
                                                    .bytes = name.bytes,
                                                    .digest = name.digest,
                                                    .parcel = done.at_keeper});
  if (!committed.ok()) {
    AQUA_TRY(hear_keeper());  // it may have been superseded
    return incoming_ ? refuse(committed.error()) : Result<void>{};
  }
  incoming_->segment.reset();
  step("close");
  const auto closed = keeper_.ask(pool_wire::Close{{.number = done.at_keeper,
                                                    .id = done.parcel.id,
                                                    .turn = done.parcel.turn,
                                                    .tokens = done.parcel.tokens,
                                                    .note = done.parcel.note}});
  if (!closed.ok()) {
    if (keeper_.connected()) AQUA_TRY(hear_keeper());
    return incoming_ ? refuse(closed.error()) : Result<void>{};
  }
  const std::uint64_t number = done.offer;
  ++counters_.received;
  landed_[done.at_keeper] = number;
  incoming_.reset();
  step("landed");
  return link_.say(Landed{number});
}

Result<void> Receiver::refuse(const Error& why) {
  const std::uint64_t number = incoming_->offer;
  if (keeper_.connected()) (void)keeper_.ask(pool_wire::Recall{incoming_->at_keeper});
  drop_incoming();
  if (!keeper_.connected()) return why;
  return link_.say(Refused{number, why});
}

void Receiver::drop_incoming() {
  if (incoming_->segment) keeper_.segments().give_back(incoming_->segment->number);
  incoming_.reset();
}

}  // namespace aqua::courier
