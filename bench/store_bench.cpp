// SPDX-License-Identifier: Apache-2.0
// store_bench [--directory DIR] [--commits N] [--json FILE]
//
// What it costs to write one grant down, against bare SQLite and the disk itself, in one run and
// one directory:
//   fdatasync      one page written through, by one thread: appended (the file grows, as a fresh
//                  log does), and in place (as a log does that has been begun anew)
//   bare normal    SQLite, WAL, synchronous=NORMAL: one row of a table replaced, one transaction
//   bare full      the same with synchronous=FULL
//   store process  Store::commit() of one slab: survives the daemon
//   store host     commit() and sync(): survives the machine; by 1, 8 and 64 threads, which share
//                  one lock for commit() as the daemon's do, and the disk's writes (group commit)

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "coordinator/store/sqlite_store.hpp"
#include "harness.hpp"
#include "samples.hpp"

namespace {

using namespace aqua;
using coordinator::SqliteConnection;
using coordinator::SqliteStore;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string directory = "/tmp";
  std::size_t commits = 20'000;  // those that wait for the disk: a tenth
  std::string json;
};

class Place {
 public:
  explicit Place(const std::string& parent) : path_(parent + "/aqua-store-bench-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) std::exit((std::perror(path_.c_str()), 1));
  }
  ~Place() { std::filesystem::remove_all(path_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Measured {
  double per_second = 0;
  double median_us = 0;
  double p99_us = 0;
};

json to_json(const Measured& m) {
  return {{"per_second", m.per_second}, {"median_us", m.median_us}, {"p99_us", m.p99_us}};
}

// Each thread runs work() `each` times; the time of every call.
template <typename Work>
Measured measure(std::size_t threads, std::size_t each, Work&& work) {
  std::vector<std::vector<double>> times(threads);
  std::vector<std::thread> running;
  const auto start = Clock::now();
  for (auto& mine : times) {
    running.emplace_back([&] {
      mine.reserve(each);
      for (std::size_t i = 0; i < each; ++i) {
        const auto before = Clock::now();
        work();
        mine.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double> took = Clock::now() - start;
  std::vector<double> all;
  for (const auto& mine : times) all.insert(all.end(), mine.begin(), mine.end());
  return {.per_second = static_cast<double>(all.size()) / took.count(),
          .median_us = bench::median(all),
          .p99_us = bench::quantile(all, 0.99)};
}

Measured disk(const Options& options, bool in_place) {
  const Place place(options.directory);
  const UniqueFd file(::open((place.path() + "/file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::vector<char> page(4096, 'x');
  return measure(1, options.commits / 10, [&] {
    if (in_place) ::lseek(file.get(), 0, SEEK_SET);
    if (::write(file.get(), page.data(), page.size()) < 0 || ::fdatasync(file.get()) != 0)
      std::exit((std::perror("fdatasync"), 1));
  });
}

Measured bare(const Options& options, const char* synchronous, std::size_t commits) {
  const Place place(options.directory);
  const auto connection = bench::must(SqliteConnection::open(place.path() + "/bare.db"), "open");
  bench::must(connection->exec("PRAGMA journal_mode = WAL"), "wal");
  bench::must(connection->exec(synchronous), "synchronous");
  bench::must(connection->exec("CREATE TABLE t(id INTEGER PRIMARY KEY, row BLOB)"), "create");
  auto begin = bench::must(connection->prepare("BEGIN IMMEDIATE"), "prepare");
  auto put = bench::must(connection->prepare("INSERT OR REPLACE INTO t VALUES(?, randomblob(150))"),
                         "prepare");
  auto commit = bench::must(connection->prepare("COMMIT"), "prepare");
  std::uint64_t n = 0;
  return measure(1, commits, [&] {
    bench::must(begin.run(), "begin");
    bench::must(put.bind(n++ % 1000).run(), "put");
    bench::must(commit.run(), "commit");
  });
}

Measured store(const Options& options, bool host, std::size_t threads, std::size_t commits) {
  const Place place(options.directory);
  const auto store = bench::must(SqliteStore::open(place.path(), {.boot = "b", .namespaces = "n"}),
                                 "open the store");
  (void)bench::must(store->load(), "load");
  Mutex mu;  // as the ledger's
  std::uint32_t n = 0;
  const ClientId producer = random_id<ClientTag>();
  const ClientId holder = random_id<ClientTag>();
  return measure(threads, commits / threads, [&] {
    coordinator::Revision revision = 0;
    {
      MutexLock lock(mu);
      coordinator::WriteSet rows;
      ledger::Slab slab;
      slab.id = {producer, n++ % 1000};
      slab.bytes = 2 << 20;
      slab.state = ledger::SlabState::leased;
      slab.holder = holder;
      rows.put.slabs.push_back(slab);
      revision = bench::must(store->commit(rows), "commit");
    }
    if (host) bench::must(store->sync(revision), "sync");
  });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"What it costs to write a grant down, against bare SQLite and the disk itself."};
  app.option_defaults()->always_capture_default();
  app.add_option("--directory", options.directory, "where the files go; its disk counts")
      ->check(CLI::ExistingDirectory);
  app.add_option("--commits", options.commits, "of each row")->check(CLI::Range(1000, 100'000'000));
  app.add_option("--json", options.json, "write the result");
  CLI11_PARSE(app, argc, argv);
  const std::size_t waiting = options.commits / 10;
  const Measured raw = disk(options, false);
  const Measured in_place = disk(options, true);
  const Measured bare_normal = bare(options, "PRAGMA synchronous = NORMAL", options.commits);
  const Measured bare_full = bare(options, "PRAGMA synchronous = FULL", waiting);
  const Measured process = store(options, false, 1, options.commits);
  json result{{"commits", options.commits},
              {"directory", options.directory},
              {"fdatasync", to_json(raw)},
              {"fdatasync_in_place", to_json(in_place)},
              {"bare_normal", to_json(bare_normal)},
              {"bare_full", to_json(bare_full)},
              {"store_process", to_json(process)},
              {"store_process_over_bare_normal", process.per_second / bare_normal.per_second}};
  for (const std::size_t threads : {1UL, 8UL, 64UL}) {
    const Measured host = store(options, true, threads, waiting * std::min(threads, 8UL));
    json row = to_json(host);
    row["threads"] = threads;
    row["over_bare_full"] = host.per_second / bare_full.per_second;
    row["p99_over_fdatasync_p99"] = host.p99_us / raw.p99_us;
    result["store_host"].push_back(row);
  }
  std::printf("%s\n", result.dump(1).c_str());
  if (!options.json.empty()) std::ofstream(options.json) << result;
  return 0;
}
