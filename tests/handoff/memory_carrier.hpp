// SPDX-License-Identifier: Apache-2.0
// A Carrier within one process, over the keeper's record: for tests of who hands over. Members are
// engines of one runtime, each with a cache of its own; what is filled lies in tensors.
//
// Threads: one. Nothing is in the background but copies, whose end wait() awaits.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/carrier.hpp"
#include "aqua/runtime.hpp"
#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "parcel/parcel_book.hpp"
#include "transfer/ticket_state.hpp"

namespace aqua::test {

// A ticket for two: who posted the transfer, and who closes what is filled.
class SharedTicket final : public TicketState {
 public:
  explicit SharedTicket(Ticket of) : of_(std::move(of)) {}
  Result<bool> done() override { return of_.done(); }
  Result<void> wait() override { return of_.wait(); }
  void cancel() noexcept override { of_.cancel(); }
  Result<bool> layer_done(unsigned layer) override { return of_.layer_done(layer); }
  Result<void> stream_wait(Stream stream, unsigned layer) override {
    return of_.stream_wait(stream, layer);
  }
  std::size_t bytes() const noexcept override { return of_.bytes(); }

 private:
  Ticket of_;
};

// What stands for the keeper. Outlives its members.
struct MemoryHub {
  // What was filled at once, and where it lies.
  struct Fill {
    KvRange range{};
    AquaTensor tensor;
    std::shared_ptr<SharedTicket> copies{};
  };
  // A close(), until what was filled is there.
  struct Closing {
    MemberNumber giver = 0;
    std::uint32_t tokens = 0;
    std::string note{};
  };

  // Closes what is complete by now, and drops what has ended.
  void settle() {
    std::erase_if(closing, [&](const auto& one) { return close(one.first, one.second); });
    for (const std::uint64_t number : book.take_ended()) fills.erase(number);
  }
  void wait_for_copies() {
    for (auto& [number, close] : closing) {
      for (Fill& fill : fills[number]) (void)fill.copies->wait();
    }
  }

  ParcelBook book{};
  std::map<std::uint64_t, std::vector<Fill>> fills{};  // by parcel
  std::map<std::uint64_t, Closing> closing{};
  std::map<MemberNumber, std::vector<Delivery>> deliveries{};
  MemberNumber last = 0;

 private:
  // Whether nothing is left to be done about it.
  bool close(std::uint64_t number, const Closing& what) {
    for (const Fill& fill : fills[number]) {
      const auto there = fill.copies->done();
      if (there.ok() && !*there) return false;
      if (there.ok()) continue;
      deliveries[what.giver].push_back({.number = number,
                                        .outcome = Delivery::Outcome::refused,
                                        .returned = true,
                                        .error = there.error()});
      (void)book.recall(what.giver, number);
      return true;
    }
    (void)book.close(what.giver, number, what.tokens, what.note);  // else it has ended
    return true;
  }
};

class MemoryCarrier final : public Carrier {
 public:
  // The layout outlives it.
  MemoryCarrier(MemoryHub& hub, Runtime& runtime, const Layout& layout, const std::string& role)
      : hub_(hub), runtime_(runtime), layout_(layout), self_(++hub.last) {
    (void)hub_.book.join(self_, role);
  }
  ~MemoryCarrier() override {
    hub_.wait_for_copies();
    hub_.settle();
    hub_.book.end(self_);
    hub_.settle();
  }
  MemoryCarrier(const MemoryCarrier&) = delete;
  MemoryCarrier& operator=(const MemoryCarrier&) = delete;

  Result<std::uint64_t> open(const ParcelHead& head, const std::string& role) override {
    auto number = hub_.book.reserve(self_, role, head);
    hub_.settle();
    if (number.ok() || number.error().code != Code::aborted) return number;
    hub_.deliveries[self_].push_back({.number = ++last_refused_,
                                      .outcome = Delivery::Outcome::refused,
                                      .returned = true,
                                      .error = number.error()});
    return last_refused_;
  }
  Result<ParcelState> state(std::uint64_t number) const override {
    hub_.settle();
    const auto* const record = hub_.book.find(number);
    if (record == nullptr || record->giver != self_) return unknown(number);
    return std::min(record->state, ParcelState::closed);
  }
  Result<Ticket> fill(std::uint64_t number, const KvRange& range, BlockList from,
                      Stream stream) override {
    AQUA_TRY(check_open(number));
    if (most_filled_ == 0) return Error{Code::resource_exhausted, "fill: the parcel is full"};
    --most_filled_;
    AQUA_ASSIGN(const std::size_t bytes, layout_.packed_bytes(from.size(), range));
    AQUA_ASSIGN(AquaTensor tensor, runtime_.allocate({.bytes = bytes, .name = "part"}));
    AQUA_ASSIGN(Ticket posted, runtime_.offload(layout_, from, range, tensor, stream));
    const auto copies = std::make_shared<SharedTicket>(std::move(posted));
    hub_.fills[number].push_back({range, std::move(tensor), copies});
    return watched(detail::Internals::make<Ticket>(std::shared_ptr<TicketState>(copies)));
  }
  Result<void> close(std::uint64_t number, BlockList /*blocks*/, std::uint32_t tokens,
                     std::string note, Stream /*stream*/) override {
    AQUA_TRY(check_open(number));
    AQUA_TRY(check_parcel("close", {.id = hub_.book.find(number)->id, .note = note}));
    hub_.closing[number] = {self_, tokens, std::move(note)};
    hub_.settle();
    return {};
  }
  Result<void> recall(std::uint64_t number) override {
    AQUA_TRY(state(number));
    const auto recalled = hub_.book.recall(self_, number);
    if (!recalled.ok()) return {};  // it is taken, which deliveries() will tell
    hub_.closing.erase(number);
    hub_.deliveries[self_].push_back(
        {.number = number, .outcome = Delivery::Outcome::recalled, .returned = true});
    hub_.settle();
    return {};
  }
  std::vector<Delivery> deliveries() override {
    hear();
    return std::exchange(hub_.deliveries[self_], {});
  }

  Result<void> admit(const std::string& from, std::uint32_t parcels) override {
    return hub_.book.admit(self_, from, parcels);
  }
  std::vector<Parcel> accept(std::size_t most) override {
    hub_.settle();
    std::vector<Parcel> taken;
    while (taken.size() < most) {
      const auto number = hub_.book.accept(self_);
      if (!number.ok()) break;
      const auto& record = *hub_.book.find(*number);
      taken.push_back({.number = *number,
                       .id = record.id,
                       .turn = record.turn,
                       .given = record.given_turn,
                       .from = record.from,
                       .tokens = record.tokens,
                       .note = record.note});
    }
    return taken;
  }
  Result<Ticket> land(std::uint64_t number, const KvRange& filled, BlockList into,
                      const KvRange& at, Stream stream) override {
    AQUA_ASSIGN(MemoryHub::Fill* const fill, find_fill(number, filled, into, at));
    if (landed_ == most_landed_) return Error{Code::internal, "land: the device has failed"};
    ++landed_;
    AQUA_ASSIGN(Ticket posted, runtime_.fetch(fill->tensor, layout_, into, at, stream));
    return watched(std::move(posted));
  }
  Result<void> check_landable(std::uint64_t number, const KvRange& filled, BlockList into,
                              const KvRange& at) override {
    AQUA_TRY(find_fill(number, filled, into, at));
    return {};
  }
  Result<void> confirm(std::uint64_t number) override {
    if (away_) return Error{Code::unavailable, "confirm: nothing is carried any more"};
    return hub_.book.confirm(self_, number);
  }
  Result<void> finish(std::uint64_t number, Stream /*stream*/) override {
    AQUA_TRY(check_captured());
    return finish_as(ParcelEvent::confirmed, number);
  }
  Result<void> decline(std::uint64_t number, Stream /*stream*/) override {
    AQUA_TRY(check_captured());
    return decline(number);
  }
  Result<void> decline(std::uint64_t number) override {
    return finish_as(ParcelEvent::declined, number);
  }
  std::vector<std::uint64_t> superseded() override {
    hear();
    return std::exchange(superseded_, {});
  }
  std::vector<ParcelHead> cut_off() override {
    hear();
    return std::exchange(cut_off_, {});
  }

  bool wait(std::chrono::milliseconds /*patience*/) override {
    hub_.wait_for_copies();
    hub_.settle();
    return hub_.book.next_for(self_) != 0 || hub_.book.has_news(self_) ||
           !hub_.deliveries[self_].empty();
  }
  bool is_connected() const override { return true; }

  [[nodiscard]] unsigned landed() const { return landed_; }  // calls of land()
  // The next copies are watched by these, in turn, instead of by their own.
  void watch_by(std::deque<Ticket> tickets) { watched_by_ = std::move(tickets); }
  // As while a graph is captured: nothing can be finished behind a stream.
  void capture(bool on) { capturing_ = on; }
  // As once the keeper has ended: nobody is told anything.
  void go_away() { away_ = true; }
  // There is no room for more than so many ranges.
  void fill_at_most(unsigned ranges) { most_filled_ = ranges; }
  // The device fails at the next one.
  void land_at_most(unsigned calls) { most_landed_ = calls; }
  // Parcels that this member cannot read now.
  void unmap(std::set<std::uint64_t> parcels) { unmapped_ = std::move(parcels); }

 private:
  static Error unknown(std::uint64_t number) {
    return Error{Code::not_found, concat("no parcel ", number, " is this member's")};
  }
  [[nodiscard]] Result<void> check_open(std::uint64_t number) const {
    AQUA_ASSIGN(const ParcelState now, state(number));
    if (now == ParcelState::open && !hub_.closing.contains(number)) return {};
    return Error{Code::failed_precondition, concat("parcel ", number, " is not open")};
  }
  [[nodiscard]] Result<void> check_taken(std::uint64_t number) const {
    const auto* const record = hub_.book.find(number);
    if (record == nullptr || record->taker != self_) return unknown(number);
    return {};
  }
  [[nodiscard]] Result<MemoryHub::Fill*> find_fill(std::uint64_t number, const KvRange& filled,
                                                   BlockList into, const KvRange& at) const {
    AQUA_TRY(check_taken(number));
    if (unmapped_.contains(number))
      return Error{Code::unavailable, concat("parcel ", number, " is being mapped")};
    auto& fills = hub_.fills[number];
    const auto fill = std::ranges::find(fills, filled, &MemoryHub::Fill::range);
    if (fill == fills.end()) return Error{Code::invalid_argument, "land: nothing was filled so"};
    AQUA_TRY(layout_.check(into));
    AQUA_ASSIGN(const std::size_t bytes, layout_.packed_bytes(into.size(), at));
    if (bytes == fill->copies->bytes()) return &*fill;
    return Error{Code::invalid_argument,
                 concat("land: ", fill->copies->bytes(), " bytes were filled, and not ", bytes)};
  }
  [[nodiscard]] Result<void> check_captured() const {
    if (capturing_) return Error{Code::failed_precondition, "finish: the stream is captured"};
    return {};
  }
  Result<void> finish_as(ParcelEvent what, std::uint64_t number) {
    auto finished = hub_.book.finish(self_, number, what);
    hub_.settle();
    return finished;
  }
  [[nodiscard]] Ticket watched(Ticket posted) {
    if (watched_by_.empty()) return posted;
    Ticket instead = std::move(watched_by_.front());
    watched_by_.pop_front();
    return instead;
  }
  void hear() {
    for (const ParcelNews& told : hub_.book.take_news(self_)) {
      const auto* const record = hub_.book.find(told.number);
      if (told.event == ParcelEvent::opened) continue;
      if (told.event == ParcelEvent::cut_off) {
        cut_off_.push_back(told.head);
        continue;
      }
      if (told.event == ParcelEvent::taken_superseded) {
        if (record != nullptr && record->taker == self_) superseded_.push_back(told.number);
        continue;
      }
      hub_.deliveries[self_].push_back(
          {.number = told.number,
           .outcome = told.event == ParcelEvent::confirmed    ? Delivery::Outcome::confirmed
                      : told.event == ParcelEvent::superseded ? Delivery::Outcome::superseded
                      : told.event == ParcelEvent::declined   ? Delivery::Outcome::declined
                                                              : Delivery::Outcome::cancelled});
    }
  }

  MemoryHub& hub_;
  Runtime& runtime_;
  const Layout& layout_;
  const MemberNumber self_;
  std::vector<std::uint64_t> superseded_;
  std::vector<ParcelHead> cut_off_;
  std::uint64_t last_refused_ = std::uint64_t{1} << 40;  // numbers that no parcel has
  unsigned landed_ = 0, most_landed_ = UINT_MAX, most_filled_ = UINT_MAX;
  bool capturing_ = false, away_ = false;
  std::deque<Ticket> watched_by_;
  std::set<std::uint64_t> unmapped_;
};

}  // namespace aqua::test
