// SPDX-License-Identifier: Apache-2.0
// A Carrier within one process, over the keeper's record and plain memory: for tests and simulators
// of who hands over. Each member has blocks of its own, so that bytes are carried.
//
// Threads: one. Nothing is in the background, so that wait() says at once whether there is news.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/carrier.hpp"
#include "parcel/parcel_book.hpp"

namespace aqua::test {

// What stands for the keeper. Outlives its members.
struct MemoryHub {
  ParcelBook book{};
  std::map<std::uint64_t, std::vector<std::byte>> bytes{};  // of parcels
  MemberNumber last = 0;
};

class MemoryCarrier final : public Carrier {
 public:
  static constexpr std::size_t kBlockBytes = 64;

  MemoryCarrier(MemoryHub& hub, const std::string& role) : hub_(hub), self_(++hub.last) {
    (void)hub_.book.join(self_, role);
  }
  ~MemoryCarrier() override {
    hub_.book.end(self_);
    sweep();
  }
  // Of this member alone.
  [[nodiscard]] std::byte* block(std::uint32_t number) { return &memory_.at(number * kBlockBytes); }

  Result<std::uint64_t> open(const ParcelHead& head, const std::string& role) override {
    auto number = hub_.book.open(self_, role, head);
    if (number.ok() || number.error().code != Code::aborted) return number;
    const std::uint64_t refused = ++last_refused_;
    refused_.push_back({.number = refused,
                        .outcome = Delivery::Outcome::refused,
                        .returned = true,
                        .error = number.error()});
    return refused;
  }
  Result<ParcelState> state(std::uint64_t number) const override {
    const auto* const record = hub_.book.find(number);
    if (record == nullptr || record->giver != self_) return unknown();
    return std::min(record->state, ParcelState::closed);
  }
  Result<void> fill(std::uint64_t number, const KvRange& /*range*/, BlockList from,
                    Stream /*stream*/) override {
    if (auto known = state(number); !known.ok()) return std::move(known).error();
    auto& bytes = hub_.bytes[number];
    bytes.clear();
    for (const std::uint32_t b : from) bytes.insert(bytes.end(), block(b), block(b) + kBlockBytes);
    return {};
  }
  Result<void> close(std::uint64_t number, BlockList /*blocks*/, std::uint32_t tokens,
                     std::string note, Stream /*stream*/) override {
    auto closed = hub_.book.close(self_, number, tokens, std::move(note));
    sweep();
    return closed;
  }
  Result<void> recall(std::uint64_t number) override {
    if (const auto recalled = hub_.book.recall(self_, number); !recalled.ok()) {
      return recalled.error().code == Code::not_found ? recalled : Result<void>();
    }
    refused_.push_back(
        {.number = number, .outcome = Delivery::Outcome::recalled, .returned = true});
    sweep();
    return {};
  }
  std::vector<Delivery> deliveries() override {
    hear();
    return std::exchange(refused_, {});
  }
  Result<void> admit(std::uint32_t parcels) override { return hub_.book.admit(self_, parcels); }
  std::vector<Parcel> accept(std::size_t most) override {
    std::vector<Parcel> taken;
    while (taken.size() < most) {
      const auto number = hub_.book.accept(self_);
      if (!number.ok()) break;
      const auto& record = *hub_.book.find(*number);
      taken.push_back({.number = *number,
                       .id = record.id,
                       .turn = record.turn,
                       .tokens = record.tokens,
                       .note = record.note});
    }
    return taken;
  }
  Result<Ticket> land(std::uint64_t number, const KvRange& /*range*/, BlockList into,
                      Stream /*stream*/) override {
    const auto* const record = hub_.book.find(number);
    if (record == nullptr || record->taker != self_) return unknown();
    const auto& bytes = hub_.bytes[number];
    for (std::size_t i = 0; i < into.size() && (i + 1) * kBlockBytes <= bytes.size(); ++i) {
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * kBlockBytes), kBlockBytes,
                  block(into[i]));
    }
    return Ticket::join({});
  }
  Result<void> confirm(std::uint64_t number) override { return hub_.book.confirm(self_, number); }
  Result<void> finish(std::uint64_t number, Stream /*stream*/) override {
    auto finished = hub_.book.finish(self_, number);
    sweep();
    return finished;
  }
  std::vector<std::uint64_t> superseded() override {
    hear();
    return std::exchange(superseded_, {});
  }
  bool wait(std::chrono::milliseconds /*patience*/) override {
    return hub_.book.next_for(self_) != 0 || hub_.book.has_news(self_) || !refused_.empty();
  }
  bool is_connected() const override { return true; }

 private:
  static Error unknown() { return Error{Code::not_found, "no such parcel is this member's"}; }
  void sweep() {
    for (const std::uint64_t number : hub_.book.take_ended()) hub_.bytes.erase(number);
  }
  void hear() {
    for (const ParcelNews& told : hub_.book.take_news(self_)) {
      const auto* const record = hub_.book.find(told.number);
      if (told.event == ParcelEvent::opened) continue;
      if (told.event == ParcelEvent::superseded && record != nullptr && record->taker == self_) {
        superseded_.push_back(told.number);
        continue;
      }
      refused_.push_back(
          {.number = told.number,
           .outcome = told.event == ParcelEvent::confirmed    ? Delivery::Outcome::confirmed
                      : told.event == ParcelEvent::superseded ? Delivery::Outcome::superseded
                                                              : Delivery::Outcome::cancelled});
    }
  }

  MemoryHub& hub_;
  const MemberNumber self_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(64 * kBlockBytes);
  std::vector<Delivery> refused_;  // and what else is to be delivered
  std::vector<std::uint64_t> superseded_;
  std::uint64_t last_refused_ = std::uint64_t{1} << 40;  // numbers that no parcel has
};

}  // namespace aqua::test
