// SPDX-License-Identifier: Apache-2.0
// A member of a SegmentCarrier in a process of its own (obey.hpp), with a cache on an emulated GPU.
// It knows
//   attach ROLE N           attaches, with room for N parcels of "prefill"
//   leave
//   hang-up                 shuts its connections to the keeper, and lives on
//   carry ID TURN N STAMP   opens a parcel for "decode", waits until it is open, fills it with N
//                           blocks of this stamp, a layer at a time, closes it, and wipes the
//                           blocks once they are copied
//   begin ID TURN           opens one, and waits until it is open
//   reserve ID TURN         opens one, and waits until the keeper has answered that there is no
//                           room for it
//   go-on-with N STAMP      carries what was reserved
//   kept                    waits until what was carried last is closed
//   recall                  takes back what was carried last
//   delivered               answers what has become of the next, and the code of a refusal
//   confirm                 confirms all that was taken
//   take N                  accepts N parcels, the next that come, lets them land and compares
//                           every byte; answers their ids
//   turn                    answers that of what was taken last
//   superseded              answers how many of what was taken are, once some are
//   check                   lets all that was taken land again and compares every byte
//   finish                  ends all that was taken
//   give N                  carries N requests, one "gave ID" each once it is kept
//   serve N                 takes, checks and finishes N, one "served ID" each, with room for more
#include <unistd.h>

#include <istream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/segment_carrier.hpp"
#include "base/concat.hpp"
#include "tests/handoff/delivered.hpp"
#include "tests/handoff/small_carrier.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/keeper/hang_up.hpp"
#include "tests/keeper/obey.hpp"

namespace {

using namespace aqua;
using test::StampedCache;
using test::peer::outcome;
using test::peer::tell;

constexpr std::chrono::milliseconds kLook{1000};  // then look again whether the keeper is there

class CarrierPeer {
 public:
  explicit CarrierPeer(std::string keeper) : keeper_(std::move(keeper)) {}

  std::string obey(const std::string& verb, std::istream& words) {
    if (verb == "attach") return attach(words);
    if (!carrier_) return "not attached";
    if (verb == "leave") return taken_.clear(), carrier_.reset(), "ok";
    if (verb == "hang-up") return test::hang_up();
    if (verb == "begin") return begin(words);
    if (verb == "carry") return carry(words);
    if (verb == "reserve") return reserve(words);
    if (verb == "go-on-with") return go_on_with(words);
    if (verb == "kept") return kept();
    if (verb == "recall") return outcome(carrier_->recall(last_));
    if (verb == "delivered") return test::next_delivered(*carrier_);
    if (verb == "confirm") return confirm();
    if (verb == "take") return take(number(words));
    if (verb == "turn") return std::to_string(taken_.back().turn);
    if (verb == "superseded") return superseded();
    if (verb == "cut-off") return cut_off();
    if (verb == "check") return check();
    if (verb == "finish") return finish();
    if (verb == "give") return give(number(words));
    if (verb == "serve") return serve(number(words));
    return "what is '" + verb + "'?";
  }

 private:
  static std::uint64_t number(std::istream& words) {
    std::uint64_t value = 0;
    words >> value;
    return value;
  }
  static KvRange layer(std::uint32_t l) { return {.layers = {l, 1}}; }
  // Whether the keeper is still there.
  bool wait() {
    (void)carrier_->wait(kLook);
    return carrier_->is_connected();
  }

  std::string attach(std::istream& words) {
    std::string role;
    words >> role;
    auto attached = SegmentCarrier::attach(cache_.runtime(), cache_.layout(),
                                           test::small_carrier(keeper_, role));
    if (!attached.ok()) return outcome(attached);
    carrier_ = std::move(*attached);
    const std::uint64_t room = number(words);
    return room == 0 ? "ok" : outcome(carrier_->admit("prefill", static_cast<std::uint32_t>(room)));
  }

  std::string open(const ParcelHead& head) {
    const auto opened = carrier_->open(head, "decode");
    if (!opened.ok()) return carrier_->is_connected() ? outcome(opened) : "no keeper";
    last_ = *opened;
    return "ok";
  }
  static ParcelHead head_of(std::istream& words) {
    ParcelHead head;
    words >> head.id >> head.turn;
    return head;
  }
  // The keeper is asked one thing after the other: once it has told what has become of a later
  // parcel, it has answered for this one.
  std::string reserve(std::istream& words) {
    const ParcelHead head = head_of(words);
    if (std::string said = open(head); said != "ok") return said;
    const std::uint64_t reserved = last_;
    if (std::string said = open({.id = head.id + ", later", .turn = 1}); said != "ok") return said;
    if (const auto recalled = carrier_->recall(last_); !recalled.ok()) return outcome(recalled);
    if (std::string told = test::next_delivered(*carrier_); told != "recalled") return told;
    last_ = reserved;
    // state() says `reserved` as well while there is room, and no segment yet.
    const auto filled =
        carrier_->fill(reserved, layer(0), StampedCache::blocks(1), cache_.stream());
    if (filled.ok()) return "there is room";
    const bool waits = filled.error().message.ends_with(" is not open");
    return waits ? "reserved" : outcome(filled);
  }
  std::string begin(std::istream& words) {
    std::string said = open(head_of(words));
    return said == "ok" ? until_open() : said;
  }
  std::string until_open() {
    for (;;) {
      const auto state = carrier_->state(last_);
      if (!state.ok()) return carrier_->is_connected() ? outcome(state) : "no keeper";
      if (*state == ParcelState::open) return "ok";
      if (!wait()) return "no keeper";
    }
  }
  std::string carry(std::istream& words) {
    std::string said = open(head_of(words));
    return said == "ok" ? go_on_with(words) : said;
  }
  std::string go_on_with(std::istream& words) {
    if (std::string opened = until_open(); opened != "ok") return opened;
    const std::uint64_t count = number(words), stamp = number(words);
    const auto blocks = StampedCache::blocks(count, 5, 3);
    cache_.stamp(blocks, stamp);
    std::vector<Ticket> copies;
    for (std::uint32_t l = 0; l < cache_.layout().layers(); ++l) {
      auto filled = carrier_->fill(last_, layer(l), blocks, cache_.stream());
      if (!filled.ok()) return carrier_->is_connected() ? outcome(filled) : "no keeper";
      copies.push_back(std::move(*filled));
    }
    const auto closed =
        carrier_->close(last_, {}, static_cast<std::uint32_t>(count),
                        std::to_string(stamp) + " " + std::to_string(count), cache_.stream());
    for (Ticket& copy : copies) {
      if (const auto done = copy.wait(); !done.ok()) return outcome(done);
    }
    cache_.stamp(blocks, 0);
    return closed.ok() || carrier_->is_connected() ? outcome(closed) : "no keeper";
  }
  std::string kept() {
    for (;;) {
      const auto state = carrier_->state(last_);
      if (!state.ok()) return carrier_->is_connected() ? outcome(state) : "no keeper";
      if (*state == ParcelState::closed) return "ok";
      if (!wait()) return "no keeper";
    }
  }

  std::string confirm() {
    for (const Parcel& taken : taken_) {
      if (const auto r = carrier_->confirm(taken.number); !r.ok()) return outcome(r);
    }
    return "ok";
  }
  // Whether every byte is that of its giver, wherever it lands here.
  std::string landed(const Parcel& parcel) {
    std::istringstream note(parcel.note);
    const std::uint64_t stamp = number(note), count = number(note);
    const auto into = StampedCache::blocks(count, 1, 7);
    cache_.stamp(into, 0);
    for (std::uint32_t l = 0; l < cache_.layout().layers(); ++l) {
      const auto ticket = carrier_->land(parcel.number, layer(l), into, layer(l), cache_.stream());
      if (!ticket.ok()) return carrier_->is_connected() ? outcome(ticket) : "no keeper";
    }
    return cache_.stamped(into, stamp) ? "ok" : "wrong bytes in " + parcel.id;
  }
  std::string take(std::uint64_t count) {
    std::string ids;
    for (; count > 0; --count) {
      std::vector<Parcel> come;
      while ((come = carrier_->accept(1)).empty()) {
        if (!wait()) return "no keeper";
      }
      if (std::string said = landed(come.front()); said != "ok") return said;
      ids += (ids.empty() ? "" : " ") + come.front().id;
      taken_.push_back(std::move(come.front()));
    }
    return ids;
  }
  std::string superseded() {
    for (;;) {
      const auto told = carrier_->superseded();
      if (!told.empty()) return std::to_string(told.size());
      if (!wait()) return "no keeper";
    }
  }
  std::string cut_off() {
    for (;;) {
      std::string told;
      for (const ParcelHead& head : carrier_->cut_off())
        told += concat(told.empty() ? "" : " ", head.id, ".", head.turn);
      if (!told.empty()) return told;
      if (!wait()) return "no keeper";
    }
  }
  std::string check() {
    for (const Parcel& taken : taken_) {
      if (std::string said = landed(taken); said != "ok") return said;
    }
    return "ok";
  }
  std::string finish() {
    for (const Parcel& taken : std::exchange(taken_, {})) {
      if (const auto r = carrier_->finish(taken.number, cache_.stream()); !r.ok())
        return outcome(r);
    }
    return "ok";
  }

  std::string give(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string id = std::to_string(::getpid()) + "." + std::to_string(i);
      std::istringstream words(id + " 1 " + std::to_string(1 + random_() % 8) + " " +
                               std::to_string(random_() >> 1));
      std::string said = carry(words);
      if (said == "ok") said = kept();
      // It may have been taken and confirmed before it was seen kept.
      if (said != "ok" && !said.starts_with("not_found")) return said;
      (void)carrier_->deliveries();
      if (!carrier_->is_connected()) return "no keeper";
      tell("gave " + id);
    }
    return "ok";
  }
  std::string serve(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string id = take(1);
      if (id == "no keeper" || id.starts_with("wrong")) return id;
      if (!carrier_->is_connected()) return "no keeper";
      tell("served " + id);
      if (const std::string said = finish(); said != "ok") return said;
      if (!carrier_->admit("prefill", 1).ok()) return "no keeper";
    }
    return "ok";
  }

  const std::string keeper_;
  StampedCache cache_;
  std::optional<SegmentCarrier> carrier_;
  std::uint64_t last_ = 0;  // parcel that was opened
  std::vector<Parcel> taken_;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  CarrierPeer member(argv[1]);
  test::peer::obey_forever(member);
}
