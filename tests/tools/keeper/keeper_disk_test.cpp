// SPDX-License-Identifier: Apache-2.0
// Real keepers with a disk: what is durable outlives them under its name, and a disk that cannot be
// used is named.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/keeper/keeper_disk_fixture.hpp"

namespace aqua::keeper::test {
namespace {

namespace wire = segment_wire;

// By which a mirror tells what an earlier keeper had from what this one has; several are started
// within a second here.
TEST_F(KeeperDisk, EachKeeperHasAHigherNumberThanTheOneBefore) {
  std::uint64_t before = 0;
  for (int i = 0; i < 12; ++i) {
    start();
    const auto number = Client(keeper_.socket()).say(wire::Join{}).name.number;
    EXPECT_GT(number, before);
    before = number;
    keeper_.kill();
  }
}

TEST_F(KeeperDisk, WhatIsDurableOutlivesTheKeeperUnderItsName) {
  start();
  SegmentName first, second;
  {
    Client writer = client();
    first = writer.commit(1, 3 << 20);
    second = writer.commit(2, 0);
    EXPECT_GT(first.number, 1'000'000U) << "no name of an earlier keeper's";
    const SegmentDisk now = writer.written();
    EXPECT_EQ(now.durable, (SegmentSum{2, 3 << 20}));
    EXPECT_EQ(now.directory, disk());
    EXPECT_TRUE(now.writes);
    for (const SegmentStatus& row : writer.rows()) EXPECT_TRUE(row.on_disk);
  }
  keeper_.kill();
  for (const std::string& file : files()) {
    EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600)) << file;
  }
  start();
  {
    Client reader = client();
    ASSERT_EQ(reader.rows().size(), 2U);
    for (const SegmentStatus& row : reader.rows()) {
      EXPECT_FALSE(row.has_writer);
      EXPECT_TRUE(row.on_disk);
    }
    EXPECT_TRUE(reader.has(first, 1));
    EXPECT_TRUE(reader.has(second, 2));
    EXPECT_NE(reader.commit(3, 100).number, first.number);
    reader.say(wire::Drop{first.number, first.generation});
    EXPECT_EQ(reader.ask(wire::Open{first.number, first.generation}).error().code, Code::not_found);
  }
  EXPECT_EQ(keeper_.stop(), 0) << "writes and erases what it has been told of";
  start();
  Client reader = client();
  ASSERT_EQ(reader.rows().size(), 2U);
  EXPECT_EQ(reader.disk().durable, (SegmentSum{2, 100}));
}

TEST_F(KeeperDisk, ALimitOnTheSizeOfFilesRefusesASegmentAndEndsNothing) {
  start();
  Client writer = client();
  rlimit limit{};
  ASSERT_EQ(::prlimit(keeper_.process().pid(), RLIMIT_FSIZE, nullptr, &limit), 0);
  limit.rlim_cur = 3 << 20;
  ASSERT_EQ(::prlimit(keeper_.process().pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  const auto refused = writer.ask(wire::Reserve{4 << 20});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted) << refused.error().message;
  EXPECT_TRUE(writer.has(writer.commit(1, 1000), 1));
}

TEST_F(KeeperDisk, CopiesOfOtherServersOutliveTheKeeperAsCopies) {
  const SegmentOrigin origin{"a.test", 1, 2, 3};
  start();
  SegmentName copy;
  {
    Client one = client();
    copy = one.commit(1, 100, true, origin);
    const SegmentName own = one.commit(2, 100);
    EXPECT_EQ(one.written().durable, (SegmentSum{2, 200}));
    one.say(wire::Drop{own.number, own.generation});
  }
  keeper_.kill();
  start();
  Client another = client();
  const auto rows = another.rows();
  const auto row = std::ranges::find(rows, copy, &SegmentStatus::name);
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->copy_of, origin);
  EXPECT_TRUE(row->on_disk);
  EXPECT_TRUE(another.has(copy, 1));
}

TEST_F(KeeperDisk, WithoutOneItSaysSo) {
  keeper_.start();
  Client one = client();
  one.commit(1, 100);
  EXPECT_EQ(one.disk(), SegmentDisk{});
  EXPECT_FALSE(one.rows().at(0).on_disk);
  EXPECT_GT(one.rows().at(0).name.number, 1'000'000U) << "no name of an earlier keeper's";
}

TEST_F(KeeperDisk, WhatDoesNotFitIsNamedAndServed) {
  start({"--disk-quota", "16777216"});
  Client one = client();
  const SegmentName first = one.commit(1, 10 << 20), second = one.commit(2, 10 << 20);
  SegmentDisk now = one.written();
  EXPECT_EQ(now.durable.segments, 1U);
  EXPECT_EQ(now.memory_only, (SegmentSum{1, 10 << 20}));
  EXPECT_NE(now.error.find("stays in memory alone"), std::string::npos) << now.error;
  EXPECT_TRUE(one.has(second, 2));
  one.say(wire::Drop{first.number, first.generation});
  while (!one.rows().at(0).on_disk) std::this_thread::yield();
  EXPECT_EQ(one.rows().at(0).name, second);
}

// A terabyte of zeroes is read for minutes: a keeper that is told to end does not read it first.
TEST_F(KeeperDisk, SigtermEndsAKeeperThatStillReadsItsDisk) {
  ASSERT_EQ(::mkdir(disk().c_str(), 0700), 0);
  const std::string log = disk() + "/0000000001.blobs";
  constexpr blob_log::Nonce kNonce = 5;
  const std::string key = key_of({.number = 7, .generation = 1, .bytes = blob_log::kMostBodyBytes});
  const blob_log::RecordHead head{.kind = blob_log::Kind::put,
                                  .key_bytes = static_cast<std::uint32_t>(key.size()),
                                  .body_bytes = blob_log::kMostBodyBytes,
                                  .key_hash = blob_log::hash_of(std::as_bytes(std::span(key)))};
  const auto file_head = blob_log::encode_file_head(kNonce);
  const auto record_head = blob_log::encode(head, kNonce);
  std::ofstream file(log, std::ios::binary);
  file.write(reinterpret_cast<const char*>(file_head.data()), file_head.size());
  file.write(reinterpret_cast<const char*>(record_head.data()), record_head.size());
  file << key;
  file.close();
  std::filesystem::resize_file(log, blob_log::kFileHeadBytes + record_bytes(head));

  const UniqueFd reads(::inotify_init1(IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(reads.get(), log.c_str(), IN_ACCESS), 0);
  const aqua::testing::ChildProcess keeper(
      {AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--disk", disk()});
  const auto comes = [](int fd) {
    pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&watched, 1, 60'000) == 1;
  };
  ASSERT_TRUE(comes(reads.get()));
  const UniqueFd end(static_cast<int>(::syscall(SYS_pidfd_open, keeper.pid(), 0)));
  keeper.signal(SIGTERM);
  ASSERT_TRUE(comes(end.get())) << "it reads on";
  siginfo_t how{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(keeper.pid()), &how, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(how.si_code, CLD_EXITED);
  EXPECT_EQ(how.si_status, 0);
}

// Each is said on stderr and to who asks; segments are served out of memory.
class UnusableDisk : public KeeperDisk {
 protected:
  void expect_memory_alone(const std::string& why) {
    start();
    Client one = client();
    const SegmentName name = one.commit(1, 100);
    EXPECT_TRUE(one.has(name, 1));
    const SegmentDisk now = one.disk();
    EXPECT_EQ(now.directory, disk());
    EXPECT_FALSE(now.writes);
    EXPECT_NE(now.error.find(why), std::string::npos) << now.error;
    EXPECT_EQ(times_said("segments are in memory alone"), 1);
    EXPECT_FALSE(one.rows().at(0).on_disk);
    EXPECT_GT(name.number, 1'000'000U) << "names on that disk are not given again";
  }
};

TEST_F(UnusableDisk, ThatAnotherKeeperHas) {
  start();
  {
    const aqua::testing::ChildProcess* const first = &keeper_.process();
    ASSERT_GT(first->pid(), 0);
  }
  aqua::test::KeeperProcess second;
  second.kill();
  second.start({AQUA_KEEPER_PROGRAM, "--socket", second.socket(), "--disk", disk()});
  Client one(second.socket());
  EXPECT_NE(one.disk().error.find("another process has it open"), std::string::npos);
  EXPECT_FALSE(one.disk().writes);
  Client other = client();
  EXPECT_TRUE(other.disk().writes);
}

TEST_F(UnusableDisk, ThatOthersMayWrite) {
  std::filesystem::create_directory(disk());
  ASSERT_EQ(::chmod(disk().c_str(), 0777), 0);
  expect_memory_alone(disk());
}

TEST_F(UnusableDisk, OfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes another user's directory";
  std::filesystem::create_directory(disk());
  ASSERT_EQ(::chown(disk().c_str(), 65534, 65534), 0);
  expect_memory_alone(disk());
}

TEST_F(UnusableDisk, WithALogOfAnotherVersion) {
  start();
  keeper_.kill();
  std::fstream file(files().at(0), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8).put('\7');
  file.close();
  expect_memory_alone("version 7");
}

TEST_F(UnusableDisk, WithANoteThatHasTheNameOfALogs) {
  ASSERT_EQ(::mkdir(disk().c_str(), 0700), 0);
  const std::string note = disk() + "/0000000007.blobs";
  std::ofstream(note) << "my precious note";
  expect_memory_alone("not a file of a blob log");
  EXPECT_EQ(files(), std::vector<std::string>{note});
  EXPECT_EQ(std::filesystem::file_size(note), 16U);
}

TEST_F(UnusableDisk, WithFilesThatAreNoLogs) {
  ASSERT_EQ(::mkdir(disk().c_str(), 0700), 0);
  std::ofstream(disk() + "/notes.txt") << "mine";
  expect_memory_alone("notes.txt");
  EXPECT_EQ(files().size(), 1U) << "and nothing is changed there";
}

}  // namespace
}  // namespace aqua::keeper::test
