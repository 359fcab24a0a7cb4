// SPDX-License-Identifier: Apache-2.0
// A member of a KV pool in a process of its own (obey.hpp). It knows
//   attach ROLE             joins the small pool
//   leave
//   hang-up                 shuts its connection to the keeper, and lives on
//   hand ID TURN N STAMP    allocates N blocks, stamps them and hands them over to "decode"
//   carry ID TURN N STAMP   the same in two calls: opens a parcel, and closes it
//   delivered               answers what has become of the next of these, and the code of a refusal
//   confirm                 confirms all that was taken
//   take N                  accepts N parcels, the next that come, and compares every byte; answers
//                           their ids
//   append                  allocates a block for each of them where there is one, and stamps it
//   check                   compares every byte of what was taken and appended
//   finish                  ends all that was taken
//   undelivered             answers "ID CODE", and "in doubt", of the next that comes
//   give N                  hands over N requests, one "gave ID" each, and keeps blocks beside
//   serve N                 takes, appends, checks and finishes N, one "served ID" each
//   coordinator             "connected" or "away"; the one that it was started with
#include <unistd.h>

#include <istream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/handoff/delivered.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/hang_up.hpp"
#include "tests/keeper/obey.hpp"

namespace {

using namespace aqua;
using aqua::Parcel;
using Blocks = std::vector<std::uint32_t>;
using test::peer::outcome;
using test::peer::tell;

constexpr std::chrono::milliseconds kLook{1000};  // then look again whether the keeper is there

class PoolPeer {
 public:
  PoolPeer(std::string keeper, const std::string& coordinator)
      : keeper_(std::move(keeper)), runtime_(open_small_gpu(coordinator)) {}

  std::string obey(const std::string& verb, std::istream& words) {
    if (verb == "attach") {
      std::string role;
      words >> role;
      auto pool = KvPool::attach(runtime_, small_pool(keeper_, role));
      if (pool.ok()) pool_ = std::move(*pool);
      return outcome(pool);
    }
    if (verb == "coordinator") return runtime_.status().connected ? "connected" : "away";
    if (!pool_) return "not attached";
    if (verb == "hang-up") return test::hang_up();
    if (verb == "leave") return taken_.clear(), pool_.reset(), "ok";
    if (verb == "hand") return hand(words);
    if (verb == "carry") return carry(words);
    if (verb == "delivered") return test::next_delivered(*pool_);
    if (verb == "confirm") return confirm();
    if (verb == "take") return take(number(words));
    if (verb == "append") return append(), "ok";
    if (verb == "check") return check();
    if (verb == "finish") return finish();
    if (verb == "undelivered") return undelivered();
    if (verb == "give") return give(number(words));
    if (verb == "serve") return serve(number(words));
    return "what is '" + verb + "'?";
  }

 private:
  struct Taken {
    Parcel parcel;
    Blocks appended{};
  };

  static std::uint64_t number(std::istream& words) {
    std::uint64_t value = 0;
    words >> value;
    return value;
  }
  static std::uint64_t stamp_of(const Parcel& parcel) { return std::stoull(parcel.note); }

  // Waits for as long as the keeper is there.
  std::optional<Blocks> allocate(std::size_t count) {
    for (;;) {
      auto blocks = pool_->allocate(count);
      if (blocks.ok()) return std::move(*blocks);
      if (!pool_->status().connected) return std::nullopt;
      (void)pool_->wait(kLook);
    }
  }
  std::optional<Parcel> accept() {
    for (;;) {
      auto parcels = pool_->accept(1);
      if (!parcels.empty()) return std::move(parcels.front());
      if (!pool_->status().connected) return std::nullopt;
      (void)pool_->wait(kLook);
    }
  }

  std::string hand(std::istream& words) {
    Parcel parcel;
    words >> parcel.id >> parcel.turn;
    const std::uint64_t count = number(words);
    words >> parcel.note;
    auto blocks = allocate(count);
    if (!blocks) return "no keeper";
    stamp_blocks(pool_->layout(), *blocks, stamp_of(parcel));
    parcel.blocks = std::move(*blocks);
    parcel.tokens = static_cast<std::uint32_t>(count * 4);
    return outcome(pool_->hand_over(std::move(parcel), "decode", {}));
  }

  std::string carry(std::istream& words) {
    ParcelHead head;
    words >> head.id >> head.turn;
    const std::uint64_t count = number(words);
    std::string note;
    words >> note;
    const auto blocks = allocate(count);
    if (!blocks) return "no keeper";
    const auto opened = pool_->open(head, "decode");
    if (!opened.ok()) return outcome(opened);
    stamp_blocks(pool_->layout(), *blocks, std::stoull(note));
    return outcome(pool_->close(*opened, *blocks, static_cast<std::uint32_t>(count * 4), note, {}));
  }

  std::string confirm() {
    for (const Taken& taken : taken_) {
      if (const auto r = pool_->confirm(taken.parcel.number); !r.ok()) return outcome(r);
    }
    return "ok";
  }

  std::string take(std::uint64_t count) {
    std::string ids;
    for (; count > 0; --count) {
      auto parcel = accept();
      if (!parcel) return "no keeper";
      if (!are_stamped(pool_->layout(), parcel->blocks, stamp_of(*parcel))) {
        return "wrong bytes in " + parcel->id;
      }
      ids += (ids.empty() ? "" : " ") + parcel->id;
      taken_.push_back({std::move(*parcel)});
    }
    return ids;
  }

  void append() {
    for (Taken& taken : taken_) {
      const auto block = pool_->allocate(1);
      if (!block.ok()) continue;  // parcels that wait may have all of them
      stamp_blocks(pool_->layout(), *block, stamp_of(taken.parcel) ^ own_, taken.appended.size());
      taken.appended.push_back(block->front());
    }
  }

  std::string check() {
    for (const Taken& taken : taken_) {
      const std::uint64_t stamp = stamp_of(taken.parcel);
      if (!are_stamped(pool_->layout(), taken.parcel.blocks, stamp) ||
          !are_stamped(pool_->layout(), taken.appended, stamp ^ own_)) {
        return "wrong bytes in " + taken.parcel.id;
      }
    }
    return "ok";
  }

  std::string finish() {
    for (const Taken& taken : std::exchange(taken_, {})) {
      const auto released = pool_->release(taken.appended, {});
      if (!released.ok()) return outcome(released);
      const auto finished = pool_->finish(taken.parcel.number, {});
      if (!finished.ok()) return outcome(finished);
    }
    return "ok";
  }

  std::string undelivered() {
    for (;;) {
      const auto all = pool_->undelivered();
      if (!all.empty()) {
        return all[0].parcel.id + " " + std::string(to_string(all[0].error.code)) +
               (all[0].in_doubt ? " in doubt" : "");
      }
      (void)pool_->wait(kLook);
    }
  }

  std::string give(std::uint64_t count) {
    std::map<std::uint64_t, Blocks> kept;  // by stamp
    for (std::uint64_t i = 0; i < count; ++i) {
      auto blocks = allocate(1 + random_() % 4);
      if (!blocks) return "no keeper";
      const std::uint64_t stamp = random_() >> 1;
      stamp_blocks(pool_->layout(), *blocks, stamp);
      Parcel parcel{.id = std::to_string(::getpid()) + "." + std::to_string(i), .turn = 1};
      parcel.blocks = std::move(*blocks);
      parcel.note = std::to_string(stamp);
      const std::string id = parcel.id;
      const auto handed = pool_->hand_over(std::move(parcel), "decode", {});
      if (!handed.ok()) return pool_->status().connected ? outcome(handed) : "no keeper";
      if (auto own = pool_->allocate(1); own.ok()) {
        stamp_blocks(pool_->layout(), *own, stamp);
        kept[stamp] = std::move(*own);
      }
      tell("gave " + id);
      if (kept.size() < 3) continue;
      const auto first = kept.begin();
      if (!are_stamped(pool_->layout(), first->second, first->first)) return "wrong bytes kept";
      if (const auto r = pool_->release(first->second, {}); !r.ok()) return outcome(r);
      kept.erase(first);
    }
    for (const auto& [stamp, blocks] : kept) {
      if (!are_stamped(pool_->layout(), blocks, stamp)) return "wrong bytes kept";
      if (const auto r = pool_->release(blocks, {}); !r.ok()) return outcome(r);
    }
    return "ok";
  }

  std::string serve(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string id = take(1);
      if (id == "no keeper" || id.starts_with("wrong")) return id;
      append();
      if (taken_.size() < 3 && i + 1 < count) continue;
      if (std::string said = check(); said != "ok") return said;
      for (const Taken& taken : taken_) tell("served " + taken.parcel.id);
      if (std::string said = finish(); said != "ok") return said;
    }
    return "ok";
  }

  const std::string keeper_;
  aqua::Runtime runtime_;
  std::optional<KvPool> pool_;
  std::vector<Taken> taken_;
  std::mt19937_64 random_{std::random_device{}()};
  const std::uint64_t own_ = random_() >> 1;  // makes this process's stamps its own
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  PoolPeer member(argv[1], argc == 3 ? argv[2] : "none");
  test::peer::obey_forever(member);
}
