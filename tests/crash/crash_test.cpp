// The coordinator dies at every write of its store, and at random moments under load; what was
// answered is on the disk, no slab is granted or mapped twice, no lease is forgotten: as told by
// what the clients wrote down themselves. The seed is printed; AQUA_TEST_SEED repeats it (as far
// as threads allow), AQUA_CRASH_ROUNDS sets other than 40 random rounds.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include "base/concat.hpp"
#include "coordinator/child_process.hpp"
#include "coordinator/host.hpp"
#include "coordinator/store/sqlite_store.hpp"
#include "coordinator/temp_dir.hpp"
#include "crash/clients.hpp"
#include "wire/state.hpp"

namespace aqua::crash_test {
namespace {

using coordinator::SqliteStore;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::ChildProcess;
using testing::TempDir;

constexpr std::uint64_t kRounds = 40;
constexpr std::size_t kLongestUs = 40'000;  // of work in one life
constexpr milliseconds kArmedPatience{60};  // for a step that may never come
constexpr int kWritesSwept = 40;

std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : fallback;
}

// What the store in `data` holds, read from a copy: the daemon shall recover the original itself.
coordinator::Stored stored_in(const std::string& data) {
  const TempDir copy;
  for (const char* file : {"/ledger.db", "/ledger.db-wal"}) {
    std::error_code none;
    std::filesystem::copy_file(data + file, copy.path() + file, none);
  }
  auto store = SqliteStore::open(copy.path(), coordinator::this_host());
  EXPECT_TRUE(store.ok()) << store.error().message;
  if (!store.ok()) return {};
  auto stored = (*store)->load();
  EXPECT_TRUE(stored.ok()) << stored.error().message;
  return stored.ok() ? *std::move(stored) : coordinator::Stored{};
}

// How often the log in `data` was begun anew: its header's count, the fourth word (SQLite's file
// format, section 4.1); 0 where there is no log yet.
std::uint32_t logs_begun(const std::string& data) {
  std::ifstream log(data + "/ledger.db-wal", std::ios::binary);
  std::array<unsigned char, 16> header{};
  if (!log.read(reinterpret_cast<char*>(header.data()), header.size())) return 0;
  std::uint32_t count = 0;
  for (std::size_t i = 12; i < header.size(); ++i) count = count << 8 | header[i];
  return count;
}

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    std::map<ClientId, Exporter*> all;
    for (int i = 0; i < 2; ++i) {
      exporters_.push_back(std::make_unique<Exporter>(records_, random_()));
      all.emplace(exporters_.back()->id(), exporters_.back().get());
    }
    for (int i = 0; i < 2; ++i)
      importers_.push_back(std::make_unique<Importer>(records_, all, random_()));
  }

  // One life of the coordinator, ended at the step `at` ("-": at a random moment).
  void live_and_die(const std::string& at) {
    const std::uint32_t logs_before = logs_begun(data());
    ChildProcess daemon = start(at);
    Life life;
    if (read_address(daemon, life)) {
      std::mutex mu;
      std::condition_variable stopped;
      int working = 4;
      std::vector<std::thread> threads;
      const auto work = [&](CrashClient& client) {
        threads.emplace_back([&] {
          client.live(life);
          const std::lock_guard<std::mutex> lock(mu);
          --working;
          stopped.notify_one();
        });
      };
      for (auto& exporter : exporters_) work(*exporter);
      for (auto& importer : importers_) work(*importer);
      if (at == "-") {
        // The moment is the point of this test: it is drawn, not waited for.
        std::this_thread::sleep_for(
            microseconds(std::uniform_int_distribution<std::size_t>(0, kLongestUs)(random_)));
      } else {
        std::unique_lock<std::mutex> lock(mu);
        (void)stopped.wait_for(lock, kArmedPatience, [&] { return working == 0; });
      }
      daemon.signal(SIGKILL);
      life.over = true;
      for (std::thread& thread : threads) thread.join();
    }
    daemon.signal(SIGKILL);
    if (daemon.wait() == 128 + SIGKILL && at != "-") ++deaths_at_steps_;
    // Each start begins one, too.
    if (const std::uint32_t logs = logs_begun(data()); logs > logs_before + 1)
      logs_begun_ += logs - logs_before - 1;
    records_.check(stored_in(data()));
  }

  // A life in peace: everybody reconciles, and all records agree.
  void settle() {
    ChildProcess daemon = start("-");
    Life life;
    ASSERT_TRUE(read_address(daemon, life));
    for (auto& exporter : exporters_) ASSERT_TRUE(exporter->settle(life));
    for (auto& importer : importers_) ASSERT_TRUE(importer->settle(life));
    const auto rows = slabs_now(life);
    std::size_t known = 0;
    for (auto& exporter : exporters_) {
      for (const lending::SlabStatus& slab : exporter->book()) {
        ++known;
        const auto row = rows.find({exporter->id(), slab.index});
        ASSERT_NE(row, rows.end()) << "slab " << slab.index << " is forgotten";
        EXPECT_EQ(row->second.generation, slab.generation);
        EXPECT_EQ(row->second.holder, slab.holder);
      }
    }
    EXPECT_EQ(rows.size(), known) << "rows of slabs that nobody exports";
    for (auto& importer : importers_) {
      for (const ledger::Grant& grant : importer->held())
        EXPECT_EQ(rows.at(grant.slab).holder, importer->id());
    }
    EXPECT_EQ(::kill(daemon.pid(), 0), 0);
    daemon.signal(SIGKILL);
    daemon.wait();
  }

  void expect_no_violations() const {
    for (const std::string& violation : records_.violations()) ADD_FAILURE() << violation;
  }
  [[nodiscard]] Records& records() { return records_; }
  [[nodiscard]] std::size_t deaths_at_steps() const { return deaths_at_steps_; }
  [[nodiscard]] std::uint32_t logs_begun_anew() const { return logs_begun_; }
  [[nodiscard]] std::mt19937_64& random() { return random_; }
  [[nodiscard]] std::string data() const { return dir_ / "data"; }

 private:
  ChildProcess start(const std::string& at) {
    return ChildProcess({AQUA_CRASH_DAEMON, at, "--data", data()}, dir_ / "log");
  }
  // False when it died before it listened.
  static bool read_address(ChildProcess& daemon, Life& life) {
    constexpr std::string_view kReady = "listening on ";
    const std::string line = daemon.read_line();
    if (!line.starts_with(kReady)) return false;
    life.address = line.substr(kReady.size());
    life.lifeline = life.address.substr(5, life.address.rfind('/') - 5) + "/lifeline.sock";
    return true;
  }
  static std::map<SlabId, ledger::Slab> slabs_now(const Life& life) {
    const auto outcome = southbound::exchange(
        wire::parse_address(life.address).value(), {"GET", "/v1/state", {}, {}},
        southbound::Clock::now() + std::chrono::seconds(20), nullptr);
    std::map<SlabId, ledger::Slab> rows;
    if (!outcome.reply) return rows;
    const auto state = wire::decode<wire::State>(outcome.reply->body, ledger::Time{0});
    if (!state.ok()) return rows;
    for (const ledger::Slab& row : state->slabs) rows.emplace(row.id, row);
    return rows;
  }

  TempDir dir_;
  std::mt19937_64 random_;
  Records records_;
  std::vector<std::unique_ptr<Exporter>> exporters_;
  std::vector<std::unique_ptr<Importer>> importers_;
  std::size_t deaths_at_steps_ = 0;
  std::uint32_t logs_begun_ = 0;
};

void report(World& world) {
  const Records::Counts counts = world.records().counts();
  std::cout << "[ MEASURED ] " << counts.grants << " grants, " << counts.returns << " returns, "
            << counts.scrubs << " scrubs answered; " << counts.leases_checked << " leases and "
            << counts.offers_checked << " offers looked for after a death; "
            << world.deaths_at_steps() << " deaths at a step; the log begun anew "
            << world.logs_begun_anew() << " times" << std::endl;
}

// The first start too: the file is made, and its tables.
TEST(Crash, AtEveryWriteOfAnEmptyStoreTheNextStartSucceeds) {
  int died = 0;
  for (const char* step : {"write", "torn", "written", "sync"}) {
    for (int count = 1; count <= kWritesSwept; ++count) {
      World world(1);
      ChildProcess first(
          {AQUA_CRASH_DAEMON, concat(step, ":", count, ":kill"), "--data", world.data()});
      if (!first.read_line().empty()) break;  // it listens: there are no more steps
      ++died;
      ASSERT_EQ(first.wait(), 128 + SIGKILL);
      world.settle();
      if (::testing::Test::HasFailure()) return (void)(std::cerr << step << ":" << count << "\n");
    }
  }
  std::cout << "[ MEASURED ] " << died << " places to die before it listens" << std::endl;
  EXPECT_GT(died, 20);
}

TEST(Crash, AtEveryWriteUnderLoadNothingIsForgottenOrGivenTwice) {
  World world(2);
  for (const char* step : {"write", "torn", "written"}) {
    for (int count = 1; count <= kWritesSwept; ++count)
      world.live_and_die(concat(step, ":", count, ":kill"));
  }
  world.settle();
  world.expect_no_violations();
  report(world);
  EXPECT_GT(world.deaths_at_steps(), 60U) << "the steps were not reached";
}

TEST(Crash, AtRandomMomentsUnderLoadNothingIsForgottenOrGivenTwice) {
  const std::uint64_t seed = number_from("AQUA_TEST_SEED", std::random_device{}());
  const std::uint64_t rounds = number_from("AQUA_CRASH_ROUNDS", kRounds);
  std::cout << "AQUA_TEST_SEED=" << seed << " AQUA_CRASH_ROUNDS=" << rounds << std::endl;
  World world(seed);
  for (std::uint64_t round = 1; round <= rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(concat("round ", round, " of seed ", seed));
    world.live_and_die("-");
    if (round % 20 == 0) world.settle();
    world.expect_no_violations();
  }
  world.settle();
  report(world);
  // A life is 40 ms at most: on a machine that is busy, under a sanitizer, few get to a grant.
  EXPECT_GT(world.records().counts().grants, rounds / 10) << "there was no load";
  EXPECT_GT(world.records().counts().leases_checked, rounds);
  EXPECT_GT(world.logs_begun_anew(), 0U) << "no death could meet it";
}

// The judge itself can judge.
TEST(Crash, ForgottenLeasesAndDoubleGrantsAreSeen) {
  const ClientId producer = random_id<ClientTag>(), one = random_id<ClientTag>(),
                 other = random_id<ClientTag>();
  const SlabId slab{producer, 1};
  coordinator::Stored stored;
  ledger::Slab row;
  row.id = slab;
  row.generation = 3;
  row.holder = one;
  row.state = ledger::SlabState::leased;
  stored.image.slabs.push_back(row);
  Records good;
  good.offered(slab, 3);
  good.granted(one, slab, 3);
  good.check(stored);
  EXPECT_TRUE(good.violations().empty());
  good.granted(other, slab, 3);
  EXPECT_EQ(good.violations().size(), 1U) << "granted twice";
  Records forgotten;
  forgotten.granted(one, slab, 3);
  forgotten.offered(slab, 4);
  forgotten.check({});
  EXPECT_EQ(forgotten.violations().size(), 2U) << "a lease and an offer";
  forgotten.check(stored);
  EXPECT_EQ(forgotten.violations().size(), 3U) << "an earlier generation";
  Records resurrected;
  resurrected.granted(one, slab, 3);
  resurrected.returning(slab, 3);
  resurrected.returned(slab, 3);
  resurrected.gone(slab);
  resurrected.check(stored);
  EXPECT_EQ(resurrected.violations().size(), 2U) << "a returned lease and a slab taken back";
}

}  // namespace
}  // namespace aqua::crash_test
