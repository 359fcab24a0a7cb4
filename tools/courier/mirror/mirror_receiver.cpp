// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/mirror/mirror_receiver.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "base/xxh3.hpp"
#include "tools/courier/carry/await_news.hpp"

namespace aqua::courier {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRead{1};  // until a copy is read no more, perhaps

}  // namespace

Result<void> MirrorReceiver::serve() {
  constexpr auto kNever = Clock::time_point::max();
  AQUA_TRY(say_what_is_held());
  auto heard = Clock::now();
  auto again = kNever;  // when what is read is tried again, however much is heard until then
  for (;;) {
    const auto due = incoming_ ? heard + link_.patience() : kNever;
    if (forgotten_.empty()) {
      again = kNever;
    } else if (again == kNever) {
      again = Clock::now() + kRead;
    }
    AQUA_ASSIGN(const News news,
                await_news(link_, keeper_.descriptors(), stop_, std::min(due, again)));
    if (news.keeper) AQUA_TRY(keeper_.clear_news());
    if (news.frame) {
      AQUA_TRY(news.frame->message ? hear(*news.frame->message) : read(news.frame->length));
      heard = Clock::now();
    } else if (Clock::now() >= due) {
      return Error{Code::unavailable, "courier: bytes that were offered do not come"};
    }
    if (Clock::now() >= again) {
      AQUA_TRY(drop_forgotten());
      again = kNever;
    }
  }
}

// The last is empty.
Result<void> MirrorReceiver::say_what_is_held() {
  AQUA_ASSIGN(const auto rows, keeper_.list());
  Held some;
  for (const SegmentStatus& row : rows) {
    if (!row.copy_of || row.copy_of->server != link_.peer()) continue;
    const Original original{row.copy_of->keeper, row.copy_of->number, row.copy_of->generation};
    // A keeper that had one on its disk alone was sent it again, and has both once it has room.
    const auto [before, first] = held_.try_emplace(original, row.name);
    if (!first) {
      forgotten_.push_back(row.name);
      continue;
    }
    some.all.push_back(original);
    if (some.all.size() < kMostHeld) continue;
    AQUA_TRY(link_.say(some));
    some.all.clear();
  }
  if (!some.all.empty()) AQUA_TRY(link_.say(some));
  AQUA_TRY(link_.say(Held{}));
  return drop_forgotten();
}

Result<void> MirrorReceiver::hear(const Message& message) {
  if (const auto* copy = std::get_if<Copy>(&message)) return hear(*copy);
  if (const auto* forget = std::get_if<Forget>(&message)) return hear(*forget);
  return Error{Code::invalid_argument, "courier: what only who receives may say"};
}

Result<void> MirrorReceiver::hear(const Copy& copy) {
  if (incoming_) {
    return Error{Code::invalid_argument, "courier: a copy is offered while one is on its way"};
  }
  if (held_.contains(copy.original)) return link_.say(Landed{copy.number});
  const auto segment = keeper_.take(copy.bytes);
  if (!segment.ok()) return refuse(copy.number, segment.error());
  incoming_ = Incoming{.copy = copy, .segment = *segment};
  return link_.say(Go{copy.number});
}

Result<void> MirrorReceiver::hear(const Forget& said) {
  const auto held = held_.find(said.original);
  if (held == held_.end()) return {};
  step("forget");
  forgotten_.push_back(held->second);
  held_.erase(held);
  return drop_forgotten();
}

Result<void> MirrorReceiver::drop_forgotten() {
  std::vector<SegmentName> read;
  for (const SegmentName& name : forgotten_) {
    AQUA_ASSIGN(const bool gone, keeper_.drop_copy(name));
    if (!gone) read.push_back(name);
  }
  forgotten_ = std::move(read);
  return {};
}

Result<void> MirrorReceiver::read(std::size_t bytes) {
  if (!incoming_ || bytes > incoming_->copy.bytes - incoming_->got) {
    return Error{Code::invalid_argument, "courier: more bytes than were offered"};
  }
  AQUA_TRY(link_.read(incoming_->segment.bytes.subspan(incoming_->got, bytes)));
  incoming_->got += bytes;
  counters_.copies_bytes += bytes;
  return incoming_->got == incoming_->copy.bytes ? land() : Result<void>{};
}

Result<void> MirrorReceiver::land() {
  const Copy copy = incoming_->copy;
  const auto bytes = incoming_->segment.bytes.first(copy.bytes);
  const bool said = std::ranges::any_of(copy.digest, [](std::uint8_t byte) { return byte != 0; });
  if (said && xxh3_of(bytes) != copy.digest) {
    drop_incoming();
    return refuse(copy.number,
                  {Code::data_loss, "courier: its bytes are not those of their digest"});
  }
  const auto kept = keeper_.commit_for_good(
      {.number = incoming_->segment.number,
       .bytes = copy.bytes,
       .digest = copy.digest,
       .copy_of = SegmentOrigin{link_.peer(), copy.original.keeper, copy.original.number,
                                copy.original.generation}});
  if (!kept.ok()) {
    if (keeper_.connected()) drop_incoming();
    return refuse(copy.number, kept.error());
  }
  incoming_.reset();
  held_[copy.original] = *kept;
  ++counters_.copies;
  step("landed");
  return link_.say(Landed{copy.number});
}

Result<void> MirrorReceiver::refuse(std::uint64_t number, const Error& why) {
  if (!keeper_.connected()) return why;
  return link_.say(Refused{number, why});
}

void MirrorReceiver::drop_incoming() {
  keeper_.give_back(incoming_->segment.number);
  incoming_.reset();
}

}  // namespace aqua::courier
