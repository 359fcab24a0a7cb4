// SPDX-License-Identifier: Apache-2.0
// The SQLite store's files: earlier versions, later versions, damage, and disks that refuse.
#include "coordinator/store/sqlite_store.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "coordinator/store/schema.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/store/stored_rows.hpp"
#include "tests/crash/step_vfs.hpp"

namespace aqua::coordinator {
namespace {

using ::testing::HasSubstr;

const Host kHost{.boot = "boot 1", .namespaces = "here"};

class SqliteFile : public ::testing::Test {
 protected:
  SqliteFile() {
    static const bool once = (testing::install_step_vfs(), true);
    (void)once;
  }
  ~SqliteFile() override { testing::refuse_writes(SQLITE_OK); }

  Result<std::unique_ptr<SqliteStore>> open() { return SqliteStore::open(dir_.path(), kHost); }
  std::unique_ptr<SqliteStore> loaded() {
    auto store = open();
    EXPECT_TRUE(store.ok()) << store.error().message;
    EXPECT_TRUE((*store)->load().ok());
    return std::move(store).value();
  }
  void refused(Code code, const std::string& what) {
    const auto store = open();
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().code, code) << store.error().message;
    EXPECT_THAT(store.error().message, HasSubstr(what));
    EXPECT_THAT(store.error().message, HasSubstr("ledger.db"));
  }
  void run(const std::string& sql) {
    const auto connection = SqliteConnection::open(path());
    ASSERT_TRUE(connection.ok());
    const auto done = (*connection)->exec(sql.c_str());
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  [[nodiscard]] std::string path() const { return dir_ / "ledger.db"; }

  testing::TempDir dir_;
};

TEST_F(SqliteFile, OfVersion1IsBroughtUpToThisOneWithItsRows) {
  std::ifstream file(AQUA_TEST_DATA "/ledger-v1.sql");
  run({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  auto store = open();
  ASSERT_TRUE(store.ok()) << store.error().message;
  const auto stored = (*store)->load();
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  EXPECT_EQ(stored->revision, 42U) << "41 commits, and ours";
  EXPECT_EQ(stored->namespaces, "") << "version 1 did not know";
  ASSERT_EQ(stored->image.clients.size(), 2U);
  EXPECT_EQ(stored->image.clients[0].info.started, 0U);
  EXPECT_EQ(stored->image.clients[0].info.uid, ledger::kUnknownUser);
  EXPECT_EQ(stored->image.clients[0].info.name, "lender");
  EXPECT_FALSE(stored->image.clients[0].draining);
  ASSERT_EQ(stored->image.slabs.size(), 2U);
  EXPECT_EQ(stored->image.slabs[1].generation, 5U);
  EXPECT_EQ(stored->image.slabs[1].holder, stored->image.clients[1].info.id);
  ASSERT_EQ(stored->image.reclaims.size(), 1U);
  EXPECT_EQ(stored->image.reclaims[0].ended, ledger::Time{0}) << "it is open";
  EXPECT_EQ(stored->image.pairs.size(), 1U);
  EXPECT_TRUE((*store)->commit({}).ok());
}

TEST_F(SqliteFile, OfALaterVersionIsRefusedUntouched) {
  loaded().reset();
  run("PRAGMA user_version = 99");
  refused(Code::failed_precondition, "has version 99, this program knows");
}

TEST_F(SqliteFile, OfAVersionBelowNothingIsRefused) {
  loaded().reset();
  run("PRAGMA user_version = -1");
  refused(Code::data_loss, "has version -1");
}

TEST_F(SqliteFile, WithAProgramInItIsRefusedBeforeThatRuns) {
  loaded().reset();
  // Raised by every start; would never end.
  run("CREATE TRIGGER endless AFTER UPDATE ON meta BEGIN DELETE FROM pair WHERE producer IN"
      " (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n); END");
  refused(Code::data_loss, "has the trigger endless");
  run("DROP TRIGGER endless; CREATE VIEW mine AS SELECT 1");
  refused(Code::data_loss, "has the view mine");
}

TEST_F(SqliteFile, OfAnotherProgramIsRefusedUntouched) {
  run("CREATE TABLE precious(x); INSERT INTO precious VALUES(1)");
  refused(Code::data_loss, "some other program");
  const auto connection = SqliteConnection::open(path());
  EXPECT_EQ((*connection)->ask("SELECT x FROM precious").value(), "1");
}

TEST_F(SqliteFile, ThatIsNoDatabaseIsRefused) {
  std::ofstream(path()) << std::string(8192, 'x');
  refused(Code::data_loss, "damaged");
}

TEST_F(SqliteFile, WithDamagedPagesIsRefusedBeforeItIsBelieved) {
  {
    auto store = loaded();
    WriteSet rows;
    for (int i = 0; i < 200; ++i) rows.put.slabs.push_back(one_of_each().slabs.front());
    ASSERT_TRUE(store->commit(rows).ok());
  }
  ASSERT_GT(std::filesystem::file_size(path()), 16384U);
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8192 + 1);  // inside the third page
  file << std::string(600, '\xff');
  file.close();
  refused(Code::data_loss, "damaged");
}

TEST_F(SqliteFile, ThatAnotherProgramHasOpenIsRefused) {
  loaded().reset();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t reader = ::fork();
  if (reader == 0) {  // as SQLite's own shell
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = ::open(path().c_str(), O_RDWR);
    // The bytes that its readers share, in no transaction (SQLite's pager, SHARED_FIRST).
    struct ::flock lock {};
    lock.l_type = F_RDLCK;
    lock.l_start = 0x40000002;
    lock.l_len = 510;
    const bool locked = ::fcntl(file, F_SETLK, &lock) == 0;
    (void)!::write(ready[1], locked ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  refused(Code::unavailable, "another program has it open");
  ::kill(reader, SIGKILL);
  ::waitpid(reader, nullptr, 0);
  EXPECT_TRUE(open().ok()) << "it is gone";
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(SqliteFile, WithRowsThatMakeNoSenseIsRefusedByTheLedger) {
  auto store = loaded();
  WriteSet rows;
  rows.put = one_of_each();  // a reclaim of a slab that nobody exports
  rows.put.clients.clear();
  ASSERT_TRUE(store->commit(rows).ok());
  const auto ledger = ledger::Ledger::restore({}, loaded()->load().value().image, ledger::Time{1});
  ASSERT_FALSE(ledger.ok());
  EXPECT_EQ(ledger.error().code, Code::data_loss);
}

TEST_F(SqliteFile, ItsRevisionIsNotWrittenByEachCommitAndIsComparedAllTheSame) {
  auto store = loaded();
  const auto in_file = [&] {
    const auto connection = SqliteConnection::open(path());
    return (*connection)->ask("SELECT value FROM meta WHERE key = 'revision'").value();
  };
  const std::string before = in_file();
  WriteSet rows;
  rows.put = one_of_each();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(store->commit(rows).ok());
  EXPECT_EQ(in_file(), before);
  const auto next = loaded();
  EXPECT_EQ(store->commit(rows).error().code, Code::aborted);
  EXPECT_TRUE(next->commit(rows).ok());
}

// How often the log has begun anew: in its header (SQLite's file format, 4.1).
std::uint32_t log_beginnings(const std::string& log) {
  std::ifstream file(log, std::ios::binary);
  std::array<unsigned char, 16> header{};
  file.read(reinterpret_cast<char*>(header.data()), header.size());
  std::uint32_t count = 0;
  for (std::size_t i = 12; i < header.size(); ++i) count = count << 8 | header[i];
  return count;
}

TEST_F(SqliteFile, UnderUnbrokenLoadTheLogBeginsAnew) {
  constexpr std::uintmax_t kFarTooMuch = std::uintmax_t{48} << 20;
  auto store = loaded();
  WriteSet rows;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    rows.put.slabs.push_back(one_of_each().slabs.front());
    rows.put.slabs.back().id.index = i;
  }
  ASSERT_TRUE(store->commit(rows).ok());
  const std::string log = path() + "-wal";
  const std::uint32_t before = log_beginnings(log);
  while (log_beginnings(log) == before) {
    ASSERT_TRUE(store->commit(rows).ok());
    ASSERT_LT(std::filesystem::file_size(log), kFarTooMuch) << "nobody moves it into the file";
  }
  EXPECT_GT(std::filesystem::file_size(path()), 100'000U) << "there they are";
  ASSERT_TRUE(store->commit(rows).ok()) << "the new log is nobody else's commit";
  store.reset();
  EXPECT_EQ(loaded()->load().value().image.slabs.size(), 1000U);
}

TEST_F(SqliteFile, OnADiskThatRefusesKeepsWhatItHadAndGoesOnAfterwards) {
  auto store = loaded();
  WriteSet first;
  first.put = one_of_each();
  ASSERT_TRUE(store->commit(first).ok());
  WriteSet second;
  second.slabs_gone = {first.put.slabs.front().id};
  const std::pair<int, Code> cases[] = {{SQLITE_FULL, Code::resource_exhausted},
                                        {SQLITE_IOERR_WRITE, Code::unavailable},
                                        {SQLITE_READONLY, Code::unavailable}};
  for (const auto& [sqlite, code] : cases) {
    testing::refuse_writes(sqlite);
    const auto refused = store->commit(second);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, code) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr("ledger.db"));
    testing::refuse_writes(SQLITE_OK);
  }
  WriteSet third;
  third.pairs_gone = {first.put.pairs.front().consumer};
  ASSERT_TRUE(store->commit(third).ok());
  first.put.pairs.clear();
  store.reset();
  EXPECT_EQ(text_of(loaded()->load().value().image), text_of(first.put))
      << "what was refused is not there, all else is";
}

TEST_F(SqliteFile, ReadOnlyAtTheStartIsAClearError) {
  loaded().reset();
  testing::refuse_writes(SQLITE_READONLY);
  const auto store = open();
  ASSERT_TRUE(store.ok()) << store.error().message;
  const auto refused = (*store)->load();  // which writes: to be the only one
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("writable"));
}

}  // namespace
}  // namespace aqua::coordinator
