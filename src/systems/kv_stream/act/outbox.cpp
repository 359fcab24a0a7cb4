// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/act/outbox.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::kv_stream {
namespace {

Error error_of(const Delivery& told) {
  const auto because = [&](Code code, const char* why) {
    return Error{code, concat("parcel ", told.number, ": ", why)};
  };
  switch (told.outcome) {
    case Delivery::Outcome::superseded:
      return because(Code::aborted, "another attempt has begun");
    case Delivery::Outcome::cancelled:
      return because(Code::cancelled, "it was cancelled by name");
    case Delivery::Outcome::recalled:
      return because(Code::cancelled, "it was taken back");
    case Delivery::Outcome::declined:
      return because(Code::failed_precondition,
                     "its receiver has no use for it; its status says why if it was refused");
    case Delivery::Outcome::confirmed:
    case Delivery::Outcome::refused:
    case Delivery::Outcome::in_doubt:
      break;
  }
  return told.error;
}

}  // namespace

Result<std::uint64_t> Outbox::open(const ParcelHead& head, const std::string& role) {
  AQUA_ASSIGN(const std::uint64_t number, carrier_.open(head, role));
  given_[number] = std::nullopt;
  return number;
}

Result<ParcelState> Outbox::state(std::uint64_t number) {
  auto now = carrier_.state(number);
  hear();  // afterwards: what the carrier knows no more it has told of
  const auto found = given_.find(number);
  if (found == given_.end() || !found->second) return now;
  if (found->second->outcome == Delivery::Outcome::confirmed) return ParcelState::confirmed;
  if (found->second->outcome == Delivery::Outcome::declined) return ParcelState::taken;
  return error_of(*found->second);
}

Result<void> Outbox::check_not_declined(std::uint64_t number) const {
  const auto found = given_.find(number);
  if (found == given_.end() || !found->second) return {};
  if (found->second->outcome != Delivery::Outcome::declined) return {};
  return error_of(*found->second);
}

void Outbox::hear() {
  for (Delivery& told : carrier_.deliveries()) {
    const auto found = given_.find(told.number);
    if (found != given_.end()) found->second = std::move(told);
  }
}

}  // namespace aqua::kv_stream
