// SPDX-License-Identifier: Apache-2.0
// 100,000 random events from many clients, nonsense included. After each: every invariant
// holds, a refused call has changed nothing, and the ledger agrees with a naive model.
// AQUA_TEST_SEED repeats a run.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

#include "tests/ledger/reference_model.hpp"
#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

constexpr int kSteps = 100'000;
constexpr Limits kTight{.max_clients = 9,
                        .max_slabs_per_client = 8,
                        .max_slab_bytes = 4 * kMiB,
                        .event_window = 200,
                        .finished_reclaims = 3};

class Chaos {
 public:
  Chaos(std::uint64_t seed, bool share) : random_(seed) {
    limits_.share_producers = share;
    ledger_ = Ledger(limits_);
    for (auto& id : processes_) id = new_id();
  }

  // One event; what it broke, or nothing.
  std::string step() {
    now_ += Time{pick(10) == 0 ? pick(4000) : pick(60)};
    const std::uint64_t before = ledger_.last_event();
    ledger_.advance(now_);
    using Op = std::string (Chaos::*)();
    static constexpr std::array<std::pair<Op, int>, 14> kOps{{{&Chaos::join, 14},
                                                              {&Chaos::renew, 16},
                                                              {&Chaos::suspect, 4},
                                                              {&Chaos::dead, 1},
                                                              {&Chaos::leave, 1},
                                                              {&Chaos::offer, 10},
                                                              {&Chaos::withdraw, 3},
                                                              {&Chaos::reclaim, 4},
                                                              {&Chaos::scrub, 14},
                                                              {&Chaos::scrub_held, 1},
                                                              {&Chaos::lease, 16},
                                                              {&Chaos::give_back, 14},
                                                              {&Chaos::pair, 1},
                                                              {&Chaos::unpair, 1}}};
    if (pick(3000) == 0) restart();
    auto at = static_cast<int>(pick(100));
    std::size_t op = 0;
    while (at >= kOps[op].second) at -= kOps[op++].second;
    if (auto broken = (this->*kOps[op].first)(); !broken.empty()) return broken;
    if (auto broken = ledger_.check_invariants(); !broken.empty()) return broken;
    if (ledger_.clients().size() > limits_.max_clients) return "more clients than may be there";
    if (auto broken = count_ends(before); !broken.empty()) return broken;
    for (const auto& [id, row] : ledger_.slabs()) ++states_[row.state];
    return model_.compare(ledger_, [&](const ClientId& id) { return undeclared_.contains(id); });
  }

  void expect_variety() const {
    for (const SlabState state : kSlabStates) {
      if (state == SlabState::returned) continue;
      EXPECT_GT(states_.at(state), 100) << to_string(state);
    }
    for (const auto& [what, times] : outcomes_) {
      EXPECT_GT(times.first, 20) << what << " was hardly ever accepted";
      EXPECT_GT(times.second, 20) << what << " was hardly ever refused";
    }
    EXPECT_EQ(outcomes_.size(), 14u);
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  ClientId new_id() { return client_id(++last_id_); }
  // Mostly a process of the right role: 0-2 lend, 3-5 borrow, 6-7 do both. Else a stranger.
  ClientId lender() {
    return pick(30) == 0 ? client_id(pick(50)) : processes_[any_of({0, 1, 2, 6, 7})];
  }
  ClientId borrower() {
    return pick(30) == 0 ? client_id(pick(50)) : processes_[any_of({3, 4, 5, 6, 7})];
  }
  std::size_t any_of(std::initializer_list<std::size_t> list) {
    return pick(20) == 0 ? pick(8) : *(list.begin() + pick(list.size()));
  }
  SlabId any_slab(const std::function<bool(const Slab&)>& wish) {
    std::vector<SlabId> found;
    for (const auto& [id, row] : ledger_.slabs()) {
      if (wish(row)) found.push_back(id);
    }
    if (found.empty() || pick(20) == 0) return {lender(), static_cast<std::uint32_t>(pick(12))};
    return found[pick(found.size())];
  }
  Generation around(const SlabId& id) {
    const auto row = ledger_.slabs().find(id);
    const Generation now = row == ledger_.slabs().end() ? 1 : row->second.generation;
    return pick(10) == 0 ? now + pick(3) - 1 : now;
  }

  // Calls; a refusal must leave everything as it was.
  template <typename Call>
  std::string attempt(const char* what, Call&& call) {
    const std::string before = dump(ledger_);
    const auto result = call();
    auto& [accepted, refused] = outcomes_[what];
    ++(result.ok() ? accepted : refused);
    if (!result.ok() && dump(ledger_) != before) {
      return concat(what, " was refused (", result.error().message, ") and changed something");
    }
    if (!result.ok() && result.error().code == Code::internal) return result.error().message;
    if constexpr (requires { result.value(); }) {
      if (result.ok()) return learn(result.value());
    }
    return result.ok() && then_ ? then_() : "";
  }
  template <typename T>
  std::string learn(const T&) {
    return then_ ? then_() : "";
  }
  std::string learn(const std::vector<Grant>& grants) {
    if (grants.empty()) return "granted nothing, and called it success";
    std::uint64_t held = 0;
    for (const Grant& grant : grants) {
      if (auto broken = model_.granted(asking_, grant); !broken.empty()) return broken;
    }
    for (const auto& [id, row] : ledger_.slabs()) {
      if (row.holder == asking_ && row.state != SlabState::orphaned && !is_alleged(row))
        held += row.bytes;
    }
    return held > exits_ ? "leases exceed the exits" : "";
  }

  std::string join() {
    const std::size_t n = pick(8);
    ClientInfo info = client_info(0, n < 3 || n > 5, n >= 3);
    info.id = pick(40) == 0 ? client_id(pick(50)) : processes_[n];
    if (pick(40) == 0) info.id = ClientId{};
    info.device = make_id<DeviceTag>(1, pick(40) == 0 ? pick(8) : n);
    // Another process's id may come with a role in which nobody has slabs to tell of.
    then_ = [this, id = info.id, lends = info.producer] { return lends ? declare_again(id) : ""; };
    return attempt("join", [&] { return ledger_.join(info, now_); });
  }
  std::string renew() {
    then_ = nullptr;
    const ClientId id = borrower();
    return attempt("renew", [&] { return ledger_.renew(id, now_); });
  }
  std::string suspect() {
    then_ = nullptr;
    const ClientId id = borrower();
    return attempt("suspect", [&] { return ledger_.suspect(id, now_); });
  }
  // A process that is gone is followed by another one with a new id.
  std::string gone(const ClientId& id) {
    model_.died(id);
    // A holder may die before it has told a new ledger what it exports itself.
    if (undeclared_.erase(id) > 0) model_.forget(id);
    for (auto& process : processes_) {
      if (process == id) process = new_id();
    }
    return "";
  }
  std::string dead() {
    const ClientId id = pick(2) == 0 ? lender() : borrower();
    then_ = [this, id] { return gone(id); };
    return attempt("dead", [&] { return ledger_.dead(id, now_); });
  }
  std::string leave() {
    const ClientId id = pick(2) == 0 ? lender() : borrower();
    then_ = [this, id] { return gone(id); };
    return attempt("leave", [&] { return ledger_.leave(id, now_); });
  }

  OfferedSlab free_slab(const ClientId& producer, std::uint32_t index) {
    // The exporter's duty: never a generation that was granted before.
    return {.index = index,
            .bytes = (1 + pick(3)) * kMiB,
            .generation = model_.last_granted({producer, index}) + 1 + pick(2),
            .secret = secret(pick(1000)),
            .holder = std::nullopt};
  }
  std::string offer() {
    then_ = nullptr;
    const ClientId producer = lender();
    std::vector<OfferedSlab> list;
    for (std::uint64_t n = pick(4); n > 0; --n) {
      list.push_back(free_slab(producer, static_cast<std::uint32_t>(pick(12))));
      // An exporter knows who touches its slabs; it does not declare those free.
      list.back().holder = model_.toucher({producer, list.back().index});
      if (pick(40) == 0) list.back().bytes = pick(2) * kPlenty;
      if (pick(40) == 0) list.back().generation = 0;
    }
    return attempt("offer", [&] { return ledger_.offer(producer, list, now_); });
  }
  std::string withdraw() {
    then_ = nullptr;
    const SlabId slab = any_slab([&](const Slab& row) { return pick(3) == 0 || !row.holder; });
    std::vector<std::uint32_t> indexes{slab.index};
    if (pick(4) == 0) indexes.push_back(static_cast<std::uint32_t>(pick(12)));
    return attempt("withdraw", [&] { return ledger_.withdraw(slab.producer, indexes, now_); });
  }
  std::string reclaim() {
    then_ = nullptr;
    const ClientId producer = lender();
    const std::uint64_t bytes = pick(8) * kMiB;
    const Time deadline = now_ + Time{pick(500)};
    return attempt("reclaim", [&] { return ledger_.reclaim(producer, bytes, deadline, now_); });
  }
  std::string scrub() {
    return scrub_one("scrub",
                     any_slab([](const Slab& row) { return row.state == SlabState::quarantined; }));
  }
  // The exporter knows better: a holder is dead, or has returned the slab directly.
  std::string scrub_held() {
    return scrub_one("scrub_held", any_slab([](const Slab& row) { return is_held(row.state); }));
  }
  std::string scrub_one(const char* what, const SlabId& slab) {
    const Generation done = around(slab);
    then_ = [=, this] { return model_.scrubbed(slab, done); };
    return attempt(what, [&] {
      return ledger_.scrubbed(slab.producer, slab.index, done, secret(pick(1000)), now_);
    });
  }

  std::string lease() {
    then_ = nullptr;
    asking_ = borrower();
    exits_ = pick(20) * kMiB;
    const std::uint64_t bytes = pick(30) == 0 ? 0 : (1 + pick(6)) * kMiB;
    return attempt("lease", [&] { return ledger_.lease(asking_, bytes, exits_, now_); });
  }
  std::string give_back() {
    const SlabId slab = any_slab([](const Slab& row) { return row.holder.has_value(); });
    const Generation generation = around(slab);
    ClientId consumer = borrower();
    const auto row = ledger_.slabs().find(slab);
    if (row != ledger_.slabs().end() && row->second.holder && pick(10) != 0) {
      consumer = *row->second.holder;
    }
    then_ = [=, this] { return model_.returned(consumer, slab, generation); };
    return attempt("give_back",
                   [&] { return ledger_.give_back(consumer, slab, generation, now_); });
  }
  std::string pair() {
    then_ = nullptr;
    const ClientId producer = lender();
    const ClientId consumer = borrower();
    return attempt("pair", [&] { return ledger_.pair(producer, consumer); });
  }
  std::string unpair() {
    then_ = nullptr;
    const ClientId consumer = borrower();
    return attempt("unpair", [&] { return ledger_.unpair(consumer); });
  }

  // The coordinator starts again, knowing nothing. Exporters remember their slabs.
  void restart() {
    for (const auto& [id, row] : ledger_.slabs()) {
      const bool alive = std::ranges::find(processes_, id.producer) != processes_.end();
      if (alive) {
        undeclared_[id.producer].insert(id.index);
      } else if (!undeclared_.contains(id.producer)) {
        model_.forget(id.producer);
      }
    }
    ledger_ = Ledger(limits_);
    ends_.clear();
  }
  std::string declare_again(const ClientId& producer) {
    const auto forgotten = undeclared_.find(producer);
    if (forgotten == undeclared_.end()) return "";
    std::vector<OfferedSlab> list;
    for (const std::uint32_t index : forgotten->second) {
      list.push_back(free_slab(producer, index));
      list.back().holder = model_.toucher({producer, index});
      if (list.back().holder) list.back().generation = model_.last_granted({producer, index});
    }
    undeclared_.erase(forgotten);
    const auto offered = ledger_.offer(producer, list, now_);
    return offered.ok() ? "" : concat("re-declaring: ", offered.error().message);
  }

  // reclaim_done comes at most once a reclaim, and has come when it is done.
  std::string count_ends(std::uint64_t before) {
    if (ledger_.last_event() < before) before = 0;  // it started again
    for (const auto& [id, client] : ledger_.clients()) {
      const auto events = ledger_.events(id, before);
      if (!events) return "one call emitted more than the window holds";
      for (const Event& event : *events) {
        if (event.kind != EventKind::reclaim_done) continue;
        if (!ends_.insert(event.reclaim).second) return "a reclaim ended twice";
      }
    }
    for (const auto& [id, reclaim] : ledger_.reclaims()) {
      if (reclaim.done != ends_.contains(id)) return concat("reclaim ", id, ": done and no event");
    }
    return "";
  }

  std::mt19937_64 random_;
  Limits limits_ = kTight;
  Ledger ledger_;
  ReferenceModel model_;
  Time now_{0};
  std::uint64_t last_id_ = 0;
  std::array<ClientId, 8> processes_;
  std::map<ClientId, std::set<std::uint32_t>> undeclared_;
  std::set<std::uint64_t> ends_;
  std::function<std::string()> then_;  // what an accepted call means for the model
  ClientId asking_;
  std::uint64_t exits_ = 0;
  std::map<std::string, std::pair<int, int>> outcomes_;  // accepted, refused
  std::map<SlabState, int> states_;
};

class LedgerModel : public ::testing::TestWithParam<bool> {};

TEST_P(LedgerModel, NoSlabIsGrantedWhileSomebodyHoldsItWhateverHappens) {
  const char* given = std::getenv("AQUA_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("AQUA_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Chaos chaos(seed, GetParam());
  for (int step = 0; step < kSteps; ++step) {
    const std::string broken = chaos.step();
    ASSERT_EQ(broken, "") << "at step " << step << " of AQUA_TEST_SEED=" << seed;
  }
  chaos.expect_variety();
}

INSTANTIATE_TEST_SUITE_P(Pairs, LedgerModel, ::testing::Bool(),
                         [](const auto& shared) { return shared.param ? "Shared" : "OneToOne"; });

}  // namespace
}  // namespace aqua::ledger::test
