// SPDX-License-Identifier: Apache-2.0
// PoolMember as a carrier: asks the keeper about parcels, and applies its answers and news.
#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "handoff/pool_member.hpp"

namespace aqua {

void PoolMember::ask(const Opening& opening) {
  step("open");
  pool_wire::Open request;
  {
    const MutexLock lock(mu_);
    const auto given = given_.find(opening.given);
    if (given == given_.end()) return;  // its close() has failed, or the keeper is away
    request = {given->second.role, given->second.head, given->second.needs_room};
  }
  const auto answer = call(request);
  const MutexLock lock(mu_);
  const auto found = given_.find(opening.given);
  if (found == given_.end()) {  // its close() has failed meanwhile, or the keeper is away
    if (answer.ok()) post(pool_wire::PoolRequest(pool_wire::Recall{answer->reply.number}));
    return;
  }
  Given& given = found->second;
  if (answer.ok()) {
    given.at_keeper = answer->reply.number;
    given.open = answer->reply.open;
    news_->tell();
  } else if (given.closed) {
    given.refused = answer.error();  // told once its blocks are back
  } else {
    deliver(opening.given, Delivery::Outcome::refused, answer.error());
  }
}

void PoolMember::ask(const HandedOver& handed) {
  step(handed.given == 0 ? "hand_over" : "close");
  const bool connected = keeper_.connected();
  pool_wire::PoolRequest request = pool_wire::Offer{handed.role, handed.parcel};
  if (handed.given != 0) {
    const MutexLock lock(mu_);
    const auto given = given_.find(handed.given);
    if (given == given_.end()) return;  // it has ended, and was told so
    if (given->second.refused) {
      failed(handed, *given->second.refused, /*in_doubt=*/false);
      return;
    }
    given->second.sent = true;
    pool_wire::Close closing{handed.parcel};
    closing.parcel.number = given->second.at_keeper;
    request = std::move(closing);
  }
  const auto answer = call(request);
  const MutexLock lock(mu_);
  if (answer.ok()) {
    arrived(handed);
    // It has ended what this member had taken of the id, and others get those blocks.
    const auto ended =
        std::stable_partition(ready_.begin(), ready_.end(),
                              [&](const Parcel& ready) { return ready.id != handed.parcel.id; });
    for (auto each = ended; each != ready_.end(); ++each) admit_again(*each);
    ready_.erase(ended, ready_.end());
    if (handed.given == 0) {
      end_giving(handed.parcel.id);
    } else if (const auto given = given_.find(handed.given); given != given_.end()) {
      end_giving(given->second);
      given->second.kept = true;
      news_->tell();
    }
    return;
  }
  failed(handed, answer.error(), /*in_doubt=*/connected && !keeper_.connected());
}

void PoolMember::ask(const Recalling& recalling) {
  std::uint64_t number = 0;
  {
    const MutexLock lock(mu_);
    const auto given = given_.find(recalling.given);
    if (given == given_.end()) return;  // its last news was on its way
    number = given->second.at_keeper;
  }
  const auto answer = call(pool_wire::Recall{number});
  if (!answer.ok()) return;  // it is taken, or has ended: that is told
  const MutexLock lock(mu_);
  const auto given = given_.find(recalling.given);
  if (given == given_.end()) return;
  if (given->second.sent) {
    undo(*given->second.closed);
    // Whether the close had got there or not, what is shared is had as often as before it.
    post_about<pool_wire::GiveBack>(MemberBlocks::shared_in(*given->second.closed));
  }
  deliver(recalling.given, Delivery::Outcome::recalled);
}

void PoolMember::hear(const ParcelNews& told) {
  if (told.event == ParcelEvent::taken_superseded) return lose(told.number);
  if (told.event == ParcelEvent::cut_off) {
    if (cut_off_.size() == kMostCutOff) cut_off_.pop_front();
    cut_off_.push_back(told.head);
    return news_->tell();
  }
  const auto given = std::find_if(given_.begin(), given_.end(), [&](const auto& entry) {
    return entry.second.at_keeper == told.number;
  });
  if (given == given_.end()) return;  // it was handed over in one call
  switch (told.event) {
    case ParcelEvent::opened:
      given->second.open = true;
      news_->tell();
      break;
    case ParcelEvent::confirmed:
      deliver(given->first, Delivery::Outcome::confirmed);
      break;
    case ParcelEvent::superseded:
      deliver(given->first, Delivery::Outcome::superseded);
      break;
    case ParcelEvent::cancelled:
      deliver(given->first, Delivery::Outcome::cancelled);
      break;
    case ParcelEvent::declined:
      deliver(given->first, Delivery::Outcome::declined);
      break;
    case ParcelEvent::taken_superseded:
    case ParcelEvent::cut_off:
      break;
  }
}

// A parcel that this member has taken is superseded by a higher turn.
void PoolMember::lose(std::uint64_t number) {
  const auto ready = std::find_if(ready_.begin(), ready_.end(),
                                  [&](const Parcel& parcel) { return parcel.number == number; });
  if (ready != ready_.end()) {  // nobody has begun it
    post(pool_wire::PoolRequest(pool_wire::Finish{number}));
    admit_again(*ready);
    ready_.erase(ready);
  } else if (mine_.has_taken(number)) {
    superseded_.push_back(number);
    news_->tell();
  } else if (const auto continued = continued_.find(number); continued != continued_.end()) {
    continued->second = true;  // told if it comes back
  }
}

Result<PoolMember::HandedOver> PoolMember::give_away(Parcel parcel, const std::string& role) {
  AQUA_ASSIGN(HandedOver handed, mine_.hand_over(std::move(parcel), role));
  if (handed.taken) continued_[handed.taken->number] = false;
  return handed;
}

void PoolMember::arrived(const HandedOver& handed) {
  if (handed.taken) continued_.erase(handed.taken->number);
}

void PoolMember::undo(const HandedOver& handed) {
  mine_.undo(handed);
  if (!handed.taken) return;
  const auto continued = continued_.extract(handed.taken->number);
  if (!continued.empty() && continued.mapped()) {
    superseded_.push_back(continued.key());
    news_->tell();
  }
}

void PoolMember::admit_again(const Parcel& parcel) {
  // Within a pool none is needed.
  if (parcel.blocks.empty()) post(pool_wire::PoolRequest(pool_wire::Admit{parcel.from, 1}));
}

bool PoolMember::take_back(std::uint64_t given) {
  const auto found = given_.find(given);
  if (found == given_.end() || !found->second.closed || found->second.sent) return false;
  undo(*found->second.closed);
  return true;
}

// The error is a copy: that of a parcel which was refused lies in what ends here.
void PoolMember::deliver(std::uint64_t given, Delivery::Outcome outcome, Error error) {
  const bool returned = take_back(given) || outcome == Delivery::Outcome::recalled ||
                        outcome == Delivery::Outcome::refused;
  const auto ended = given_.find(given);
  end_giving(ended->second);
  given_.erase(ended);
  deliveries_.push_back(
      {.number = given, .outcome = outcome, .returned = returned, .error = std::move(error)});
  news_->tell();
}

void PoolMember::failed(const HandedOver& handed, const Error& error, bool in_doubt) {
  if (handed.given != 0) {
    const auto given = given_.find(handed.given);
    if (given == given_.end()) return;  // told when the connection ended
    if (!in_doubt) {
      given->second.sent = false;
      // As long as it is open at the keeper nobody gets what was complete of its id before.
      if (const std::uint64_t open = given->second.at_keeper; open != 0) {
        post(pool_wire::PoolRequest(pool_wire::Recall{open}));
      }
    }
    deliver(handed.given, in_doubt ? Delivery::Outcome::in_doubt : Delivery::Outcome::refused,
            error);
    return;
  }
  end_giving(handed.parcel.id);
  if (!in_doubt) undo(handed);
  undelivered_.push_back(
      {.parcel = handed.parcel, .role = handed.role, .error = error, .in_doubt = in_doubt});
  news_->tell();
}

void PoolMember::disconnect(const std::string& why) {
  connected_ = false;
  error_.lasts(why);
  std::vector<std::uint64_t> unheard;
  for (const auto& [number, given] : given_) unheard.push_back(number);
  for (const std::uint64_t number : unheard) {
    deliver(number,
            given_.at(number).sent ? Delivery::Outcome::in_doubt : Delivery::Outcome::refused,
            Error{Code::unavailable, concat("pool: ", why)});
  }
  news_->tell();
}

}  // namespace aqua
