// SPDX-License-Identifier: Apache-2.0
// PoolMember as a carrier: the calls of who gives and takes parcels.
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "handoff/pool_member.hpp"

namespace aqua {
namespace {

Error not_given(const char* call, std::uint64_t number) {
  return Error{Code::not_found, concat(call, ": this member gives no parcel ", number)};
}

}  // namespace

Result<std::uint64_t> PoolMember::open(const ParcelHead& head, const std::string& role,
                                       bool needs_room) {
  AQUA_TRY(check_id("open", head.id));
  AQUA_TRY(check_role("open", role));
  const MutexLock lock(mu_);
  AQUA_TRY(check_connected());
  const std::uint64_t number = ++last_given_;
  given_[number] = {.head = head, .role = role, .needs_room = needs_room};
  begin_giving(head.id);
  post(Opening{number});
  return number;
}

Result<ParcelState> PoolMember::state(std::uint64_t number) const {
  const MutexLock lock(mu_);
  const auto given = given_.find(number);
  if (given == given_.end()) return not_given("state", number);
  if (given->second.kept) return ParcelState::closed;
  return given->second.open ? ParcelState::open : ParcelState::reserved;
}

Result<void> PoolMember::admit(const std::string& from, std::uint32_t parcels) {
  AQUA_TRY(check_room(from, parcels));
  const MutexLock lock(mu_);
  AQUA_TRY(check_connected());
  post(pool_wire::PoolRequest(pool_wire::Admit{from, parcels}));
  return {};
}

Result<std::uint64_t> PoolMember::keepers_number(const char* call, std::uint64_t number) const {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(const Given* const given, find_open(call, number));
  if (given->open) return given->at_keeper;
  return Error{Code::failed_precondition, concat(call, ": parcel ", number, " is not open")};
}

Result<const PoolMember::Given*> PoolMember::find_open(const char* call,
                                                       std::uint64_t number) const {
  const auto found = given_.find(number);
  if (found == given_.end()) return not_given(call, number);
  if (!found->second.closed) return &found->second;
  return Error{Code::failed_precondition, concat(call, ": parcel ", number, " is closed")};
}

Result<void> PoolMember::check_open(const char* call, std::uint64_t number) const {
  const MutexLock lock(mu_);
  AQUA_TRY(find_open(call, number));
  return {};
}

Result<void> PoolMember::close(std::uint64_t number, Parcel parcel, StreamMark mark) {
  const MutexLock lock(mu_);
  AQUA_TRY(check_connected());
  AQUA_TRY(find_open("close", number));
  Given& given = given_.at(number);
  parcel.id = given.head.id;
  parcel.turn = given.head.turn;
  AQUA_TRY(pool_wire::check_bytes(parcel));
  AQUA_ASSIGN(HandedOver handed, give_away(std::move(parcel), given.role));
  handed.given = number;
  given.closed = handed;
  post(std::move(mark), std::move(handed));
  return {};
}

Result<void> PoolMember::recall(std::uint64_t number) {
  const MutexLock lock(mu_);
  AQUA_TRY(check_connected());
  const auto given = given_.find(number);
  if (given == given_.end()) return not_given("recall", number);
  if (given->second.closed && given->second.closed->taken) {
    return Error{Code::failed_precondition,
                 concat("recall: parcel ", number, " continues one that was accepted")};
  }
  post(Recalling{number});
  return {};
}

std::vector<Delivery> PoolMember::deliveries() {
  const MutexLock lock(mu_);
  told_.tell(std::exchange(delivery_failures_, {}));
  return std::exchange(deliveries_, {});
}

Result<void> PoolMember::check_taken(const char* call, std::uint64_t number) const {
  const MutexLock lock(mu_);
  if (mine_.has_taken(number)) return {};
  return Error{Code::not_found, concat(call, ": no parcel ", number, " is this member's")};
}

bool PoolMember::is_continued(const Parcel& taken) const {
  const MutexLock lock(mu_);
  // As long as the keeper has not closed the other one it may be this member's again.
  return !mine_.has_taken(taken.number) && !giving_.contains(taken.id);
}

Result<void> PoolMember::confirm(std::uint64_t number) {
  AQUA_TRY(check_taken("confirm", number));
  const MutexLock lock(mu_);
  AQUA_TRY(check_connected());
  post(pool_wire::PoolRequest(pool_wire::Confirm{number}));
  return {};
}

std::vector<std::uint64_t> PoolMember::superseded() {
  const MutexLock lock(mu_);
  return std::exchange(superseded_, {});
}

std::vector<ParcelHead> PoolMember::cut_off() {
  const MutexLock lock(mu_);
  const std::deque<ParcelHead> told = std::exchange(cut_off_, {});
  return {told.begin(), told.end()};
}

}  // namespace aqua
