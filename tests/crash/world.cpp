// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/world.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include "base/concat.hpp"
#include "base/unique_fd.hpp"
#include "coordinator/host.hpp"
#include "coordinator/store/sqlite_store.hpp"
#include "wire/state.hpp"

namespace aqua::crash_test {
namespace {

using coordinator::SqliteStore;
using std::chrono::milliseconds;
using testing::ChildProcess;
using testing::TempDir;

constexpr std::size_t kMostWrites = 200;      // to the log, in a life that ends at random
constexpr milliseconds kArmedPatience{60};    // for a step that may never come
constexpr milliseconds kLogPatience{20'000};  // between two writes to the log

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

// Tells when a file was written to.
class FileWatch {
 public:
  explicit FileWatch(const std::string& path) : events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    EXPECT_GE(::inotify_add_watch(events_.get(), path.c_str(), IN_MODIFY), 0) << path;
  }
  // How often, at least once; 0 when `ended` can be read, or it was not for so long.
  [[nodiscard]] std::size_t wait_for(milliseconds patience, int ended) {
    std::array<pollfd, 2> ready{{{.fd = events_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = ended, .events = POLLIN, .revents = 0}}};
    if (::poll(ready.data(), ready.size(), static_cast<int>(patience.count())) <= 0) return 0;
    if (ready[0].revents == 0) return 0;
    std::array<char, 4096> said;
    const ssize_t bytes = ::read(events_.get(), said.data(), said.size());
    return bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(inotify_event);
  }

 private:
  UniqueFd events_;
};

// False when it died before it listened.
bool read_address(ChildProcess& daemon, Life& life) {
  constexpr std::string_view kReady = "listening on ";
  const std::string line = daemon.read_line();
  if (!line.starts_with(kReady)) return false;
  life.address = line.substr(kReady.size());
  life.lifeline = life.address.substr(5, life.address.rfind('/') - 5) + "/lifeline.sock";
  return true;
}
std::map<SlabId, ledger::Slab> slabs_now(const Life& life) {
  const auto outcome =
      southbound::http_call(wire::parse_address(life.address).value(), {"GET", "/v1/state", {}, {}},
                            southbound::Clock::now() + std::chrono::seconds(20), nullptr);
  std::map<SlabId, ledger::Slab> rows;
  if (!outcome.reply) return rows;
  const auto state = wire::decode<wire::State>(outcome.reply->body, ledger::Time{0});
  if (!state.ok()) return rows;
  for (const ledger::Slab& row : state->slabs) rows.emplace(row.id, row);
  return rows;
}

}  // namespace

class World::Workers {
 public:
  explicit Workers(int count) : ended_(::eventfd(0, EFD_CLOEXEC)), working_(count) {}
  // Can be read once all are done.
  [[nodiscard]] int ended() const { return ended_.get(); }
  void done() {
    const std::lock_guard<std::mutex> lock(mu_);
    if (--working_ == 0) (void)::eventfd_write(ended_.get(), 1);
    stopped_.notify_one();
  }
  // Until all are done, or it takes too long.
  void wait_for(milliseconds patience) {
    std::unique_lock<std::mutex> lock(mu_);
    (void)stopped_.wait_for(lock, patience, [&] { return working_ == 0; });
  }

 private:
  UniqueFd ended_;
  std::mutex mu_;
  std::condition_variable stopped_;
  int working_;
};

World::World(std::uint64_t seed) : random_(seed) {
  std::map<ClientId, Exporter*> all;
  for (int i = 0; i < 2; ++i) {
    exporters_.push_back(std::make_unique<Exporter>(records_, random_()));
    all.emplace(exporters_.back()->id(), exporters_.back().get());
  }
  for (int i = 0; i < 2; ++i)
    importers_.push_back(std::make_unique<Importer>(records_, all, random_()));
}

void World::die_at(const std::string& step) {
  if (live(step, [](Workers& workers) { workers.wait_for(kArmedPatience); }) == 128 + SIGKILL)
    ++deaths_at_steps_;
}
void World::die_at_a_random_moment() {
  (void)live("-", [&](Workers& workers) {
    FileWatch log(data() + "/ledger.db-wal");
    auto writes = std::uniform_int_distribution<std::size_t>(0, kMostWrites)(random_);
    while (writes > 0) {
      const std::size_t seen = log.wait_for(kLogPatience, workers.ended());
      if (seen == 0) break;
      writes -= std::min(writes, seen);
    }
  });
}
bool World::die_behind_a_new_log() {
  const std::uint32_t before = logs_begun(data());
  (void)live("-", [&](Workers& workers) {
    FileWatch log(data() + "/ledger.db-wal");
    while (logs_begun(data()) <= before + 1 && log.wait_for(kLogPatience, workers.ended()) > 0)
      continue;
  });
  return logs_begun(data()) > before + 1;
}

int World::live(const std::string& at, const std::function<void(Workers&)>& until) {
  const std::uint32_t logs_before = logs_begun(data());
  ChildProcess daemon = start(at);
  Life life;
  if (read_address(daemon, life)) {
    life.ending = at != "-";
    Workers workers(static_cast<int>(exporters_.size() + importers_.size()));
    std::vector<std::thread> threads;
    const auto work = [&](CrashClient& client) {
      threads.emplace_back([&] {
        client.live(life);
        workers.done();
      });
    };
    for (auto& exporter : exporters_) work(*exporter);
    for (auto& importer : importers_) work(*importer);
    until(workers);
    life.ending = true;
    daemon.signal(SIGKILL);
    life.over = true;
    for (std::thread& thread : threads) thread.join();
  }
  daemon.signal(SIGKILL);
  const int status = daemon.wait();
  // Each start begins one, too.
  if (const std::uint32_t logs = logs_begun(data()); logs > logs_before + 1)
    logs_begun_ += logs - logs_before - 1;
  records_.check(stored_in(data()));
  return status;
}

ChildProcess World::start(const std::string& at) const {
  return ChildProcess({AQUA_CRASH_DAEMON, at, "--data", data()}, dir_ / "log");
}

void World::settle() {
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

void World::expect_no_violations() const {
  for (const std::string& violation : records_.violations()) ADD_FAILURE() << violation;
}

void World::report() const {
  const Records::Counts counts = records_.counts();
  std::cout << "[ MEASURED ] " << counts.grants << " grants, " << counts.returns << " returns, "
            << counts.scrubs << " scrubs answered; " << counts.leases_checked << " leases and "
            << counts.offers_checked << " offers looked for after a death; " << deaths_at_steps_
            << " deaths at a step; the log begun anew " << logs_begun_ << " times" << std::endl;
}

}  // namespace aqua::crash_test
