// SPDX-License-Identifier: Apache-2.0
// TensorCarrier carries parcels between engines of one process and one runtime, in tensors: for
// tests of what stands on carriers. Exchange is what a keeper is elsewhere: who has which parcel.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aqua/kv_stream/stream_carrier.hpp"
#include "aqua/runtime.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::test {

using kv_stream::Carried;
using kv_stream::CarriedParcel;

struct Exchange {
  // What was filled at once, and where it lies.
  struct Fill {
    KvRange range{};
    AquaTensor tensor;
    Ticket ticket{};
  };
  struct Entry {
    CarriedParcel parcel{};
    std::string role{}, from{};
    Carried state = Carried::reserved;
    bool closing = false, taken = false;
    std::vector<Fill> fills{};
  };

  // What is filled by now is closed; whoever has room gets what is reserved.
  void settle() {
    for (auto& [number, entry] : entries) {
      if (entry.state == Carried::reserved && room[{entry.from, entry.role}] > 0) {
        --room[{entry.from, entry.role}];
        entry.state = Carried::open;
      }
      const auto there = [](const Fill& fill) { return fill.ticket.done().value(); };
      if (entry.closing && entry.state == Carried::open && std::ranges::all_of(entry.fills, there))
        entry.state = Carried::closed;
    }
  }
  [[nodiscard]] Result<Entry*> find(std::uint64_t number) {
    const auto found = entries.find(number);
    if (found == entries.end()) return Error{Code::not_found, concat("no parcel ", number)};
    return &found->second;
  }

  std::map<std::uint64_t, Entry> entries{};
  std::map<std::uint64_t, Carried> ended{};                        // with what its giver is to hear
  std::map<std::string, std::uint64_t> turns{};                    // the highest, by id
  std::map<std::pair<std::string, std::string>, unsigned> room{};  // by roles of giver and taker
  std::uint64_t last = 0;
};

class TensorCarrier : public kv_stream::StreamCarrier {
 public:
  TensorCarrier(Runtime& runtime, const Layout& layout, Exchange& exchange, std::string role)
      : runtime_(runtime), layout_(layout), exchange_(exchange), role_(std::move(role)) {}

  Result<std::uint64_t> open(const std::string& id, std::uint64_t turn, const std::string& role,
                             bool has_room) override {
    std::uint64_t& highest = exchange_.turns[id];
    if (turn <= highest) return Error{Code::aborted, concat(id, ": a stale turn")};
    highest = turn;
    Exchange::Entry& entry = exchange_.entries[++exchange_.last];
    entry.parcel = {.number = exchange_.last, .id = id, .turn = turn};
    entry.role = role;
    if (has_room) entry.state = Carried::open;
    entry.from = role_;
    return exchange_.last;
  }
  Result<Carried> state(std::uint64_t number) override {
    exchange_.settle();
    if (exchange_.ended.contains(number)) return exchange_.ended.at(number);
    AQUA_ASSIGN(Exchange::Entry* const entry, exchange_.find(number));
    return entry->state;
  }
  Result<void> fill(std::uint64_t number, const KvRange& range, BlockList blocks,
                    Stream stream) override {
    AQUA_ASSIGN(Exchange::Entry* const entry, exchange_.find(number));
    AQUA_ASSIGN(const std::size_t bytes, layout_.packed_bytes(blocks.size(), range));
    AQUA_ASSIGN(AquaTensor tensor, runtime_.allocate({.bytes = bytes, .name = "part"}));
    AQUA_ASSIGN(Ticket ticket, runtime_.offload(layout_, blocks, range, tensor, stream));
    entry->fills.push_back({range, std::move(tensor), std::move(ticket)});
    return {};
  }
  Result<void> close(std::uint64_t number, std::uint32_t tokens, const std::string& note,
                     Stream /*stream*/) override {
    AQUA_ASSIGN(Exchange::Entry* const entry, exchange_.find(number));
    entry->parcel.tokens = tokens;
    entry->parcel.note = note;
    entry->closing = true;
    return {};
  }
  Result<void> recall(std::uint64_t number) override {
    AQUA_ASSIGN(Exchange::Entry* const entry, exchange_.find(number));
    if (entry->taken) return Error{Code::failed_precondition, "it is taken"};
    exchange_.entries.erase(number);
    return {};
  }

  void forget(std::uint64_t number) override { exchange_.ended.erase(number); }

  Result<void> admit(const std::string& from, std::uint32_t parcels) override {
    exchange_.room[{from, role_}] += parcels;
    return {};
  }
  std::vector<CarriedParcel> accept() override {
    exchange_.settle();
    std::vector<CarriedParcel> all;
    for (auto& [number, entry] : exchange_.entries) {
      if (entry.role != role_ || entry.state != Carried::closed || entry.taken) continue;
      entry.taken = true;
      exchange_.turns[entry.parcel.id] = ++entry.parcel.turn;
      all.push_back(entry.parcel);
    }
    return all;
  }
  Result<Ticket> land(std::uint64_t number, const KvRange& part, BlockList into, const KvRange& at,
                      Stream stream) override {
    AQUA_ASSIGN(Exchange::Entry* const entry, exchange_.find(number));
    const auto fill = std::ranges::find(entry->fills, part, &Exchange::Fill::range);
    if (fill == entry->fills.end()) return Error{Code::invalid_argument, "nothing was filled so"};
    ++landed_;
    return runtime_.fetch(fill->tensor, layout_, into, at, stream);
  }
  Result<void> confirm(std::uint64_t number) override {
    AQUA_ASSIGN(Exchange::Entry* const entry, exchange_.find(number));
    entry->state = Carried::confirmed;
    return {};
  }
  Result<void> finish(std::uint64_t number, Stream /*stream*/) override {
    AQUA_ASSIGN(Exchange::Entry* const entry, exchange_.find(number));
    exchange_.ended[number] = entry->state;
    exchange_.entries.erase(number);
    return {};
  }
  std::vector<std::uint64_t> superseded() override {
    std::vector<std::uint64_t> all;
    for (const auto& [number, entry] : exchange_.entries) {
      if (entry.role == role_ && entry.taken &&
          entry.parcel.turn < exchange_.turns[entry.parcel.id])
        all.push_back(number);
    }
    return all;
  }
  bool wait(std::chrono::milliseconds /*patience*/) override { return true; }

  [[nodiscard]] unsigned landed() const { return landed_; }  // calls of land()

 private:
  Runtime& runtime_;
  const Layout& layout_;
  Exchange& exchange_;
  const std::string role_;
  unsigned landed_ = 0;
};

}  // namespace aqua::test
