// SPDX-License-Identifier: Apache-2.0
// Real keepers with a disk, which are killed in the middle of whatever they write: the next one
// offers what was said to be durable, byte by byte.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/keeper/connection.hpp"
#include "parcel/segment_wire.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/tools/keeper/kept_segments.hpp"

namespace aqua::keeper::test {
namespace {

namespace wire = segment_wire;

// Asks a keeper about segments, and writes and reads their memory without mapping it.
class Client {
 public:
  explicit Client(const std::string& socket)
      : connection_(KeeperConnection::connect(socket).value()) {}

  struct Answer {
    wire::Reply reply;
    std::vector<UniqueFd> fds;
  };
  Result<Answer> ask(const wire::Request& request) {
    auto message = connection_.exchange(wire::encode(request), {}, std::chrono::seconds(60));
    if (!message.ok()) return std::move(message).error();
    auto reply = wire::decode_reply(text_of(*message));
    if (!reply.ok()) return std::move(reply).error();
    return Answer{*std::move(reply), std::move(message->fds)};
  }
  wire::Reply say(const wire::Request& request) {
    auto answer = ask(request);
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer.ok() ? std::move(answer->reply) : wire::Reply{};
  }

  // Of bytes that are drawn from `stamp`.
  SegmentName commit(std::uint64_t stamp, std::uint64_t bytes, bool with_digest = true) {
    auto reserved = ask(wire::Reserve{std::max<std::uint64_t>(bytes, 1)});
    EXPECT_TRUE(reserved.ok()) << reserved.error().message;
    if (!reserved.ok()) return {};
    const auto all = bytes_of_segment(stamp, 0, bytes);
    EXPECT_EQ(::pwrite(reserved->fds.at(0).get(), all.data(), all.size(), 0),
              static_cast<ssize_t>(all.size()));
    return say(wire::Commit{reserved->reply.name.number, bytes,
                            with_digest ? digest_of_bytes(all) : SegmentDigest{}, 0})
        .name;
  }
  bool has(const SegmentName& name, std::uint64_t stamp) {
    auto opened = ask(wire::Open{name.number, name.generation});
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    if (!opened.ok()) return false;
    const bool right =
        opened->reply.name == name && opened->reply.capacity >= name.bytes &&
        bytes_in(opened->fds.at(0).get(), name.bytes) == bytes_of_segment(stamp, 0, name.bytes);
    say(wire::Close{name.number});
    return right;
  }
  std::vector<SegmentStatus> rows() {
    std::vector<SegmentStatus> all;
    for (bool more = true; more;) {
      wire::Reply part = say(wire::List{all.empty() ? 0 : all.back().name.number + 1});
      more = part.more && !part.rows.empty();
      all.insert(all.end(), part.rows.begin(), part.rows.end());
    }
    return all;
  }
  SegmentDisk disk() { return say(wire::Disk{}).disk.value_or(SegmentDisk{}); }
  // Once nothing is pending.
  SegmentDisk written() {
    SegmentDisk now = disk();
    while (now.pending.segments != 0) {
      std::this_thread::yield();
      now = disk();
    }
    return now;
  }

 private:
  KeeperConnection connection_;
};

class KeeperDisk : public ::testing::Test {
 protected:
  KeeperDisk() { keeper_.kill(); }

  void start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--disk",
                                 disk()};
    all.insert(all.end(), more.begin(), more.end());
    keeper_.start(all);
  }
  [[nodiscard]] Client client() {
    Client one(keeper_.socket());
    one.say(wire::Join{});
    return one;
  }
  [[nodiscard]] std::string disk() const { return dir_ / "disk"; }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(disk())) {
      all.push_back(entry.path());
    }
    return all;
  }

  aqua::test::KeeperProcess keeper_;
  aqua::testing::TempDir dir_;
};

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

TEST_F(KeeperDisk, WithoutOneItSaysSo) {
  keeper_.start();
  Client one = client();
  one.commit(1, 100);
  EXPECT_EQ(one.disk(), SegmentDisk{});
  EXPECT_FALSE(one.rows().at(0).on_disk);
  EXPECT_EQ(one.rows().at(0).name.number, 1U);
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

TEST_F(UnusableDisk, WithFilesThatAreNoLogs) {
  ASSERT_EQ(::mkdir(disk().c_str(), 0700), 0);
  std::ofstream(disk() + "/notes.txt") << "mine";
  expect_memory_alone("notes.txt");
  EXPECT_EQ(files().size(), 1U) << "and nothing is changed there";
}

int kill_rounds() {
  const char* const wanted = std::getenv("AQUA_DISK_ROUNDS");
  return wanted != nullptr ? std::atoi(wanted) : 120;
}

TEST_F(KeeperDisk, KilledAtRandomMomentsLosesNothingThatWasDurable) {
  std::random_device draw;
  const std::uint64_t seed = draw();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  struct Known {
    SegmentName name;
    std::uint64_t stamp = 0;
    bool durable = false;
    bool dropped = false;
  };
  std::map<std::uint64_t, Known> known;  // by number
  std::uint64_t stamps = 0;
  int found = 0, unfinished = 0;
  const auto look = [&](Client& one) {
    for (const SegmentStatus& row : one.rows()) {
      if (row.on_disk) known.at(row.name.number).durable = true;
    }
  };
  for (int round = 0; round < kill_rounds(); ++round) {
    start({"--disk-quota", "67108864"});
    {
      Client one = client();
      std::map<std::uint64_t, SegmentStatus> rows;
      for (const SegmentStatus& row : one.rows()) rows[row.name.number] = row;
      for (const auto& [number, row] : rows) {
        ASSERT_TRUE(known.contains(number)) << number;
        ASSERT_TRUE(row.on_disk);
        ASSERT_TRUE(one.has(known.at(number).name, known.at(number).stamp)) << "round " << round;
        ++found;
      }
      for (const auto& [number, was] : known) {
        ASSERT_TRUE(rows.contains(number) || !was.durable || was.dropped) << "round " << round;
      }
      ASSERT_EQ(one.disk().left, SegmentSum{});
      std::erase_if(known, [&](const auto& one_of) { return !rows.contains(one_of.first); });
      for (auto& [number, was] : known) was.dropped = false;

      // So that about as much is dropped as is committed; the last of it is being written.
      for (std::uint64_t i = 1 + random() % 8; i > 0; --i) {
        if (known.size() > 6 || (!known.empty() && random() % 3 == 0)) {
          auto at = std::next(known.begin(), static_cast<std::ptrdiff_t>(random() % known.size()));
          if (!at->second.dropped) {
            one.say(wire::Drop{at->second.name.number, at->second.name.generation});
          }
          at->second.dropped = true;
          continue;
        }
        const std::uint64_t bytes = random() % 4 == 0 ? random() % (4 << 20) : random() % 60000;
        const std::uint64_t stamp = ++stamps;
        const SegmentName name = one.commit(stamp, bytes, random() % 2 == 0);
        ASSERT_NE(name.number, 0U);
        known[name.number] = {.name = name, .stamp = stamp};
        if (random() % 3 == 0) look(one);
      }
      // Up to anywhere in what it writes.
      const SegmentDisk begun = one.disk();
      const std::uint64_t until = begun.file_bytes + random() % (1 + begun.pending.bytes);
      SegmentDisk now = begun;
      while (now.pending.segments != 0 && now.file_bytes < until) now = one.disk();
      look(one);
      unfinished += now.pending.segments != 0 ? 1 : 0;
    }
    keeper_.kill();
  }
  RecordProperty("found", found);
  RecordProperty("unfinished", unfinished);
  std::printf("%d rounds: %d segments found again, %d kills while something was pending\n",
              kill_rounds(), found, unfinished);
  EXPECT_GT(found, kill_rounds());
  EXPECT_GT(unfinished, kill_rounds() / 10);
}

}  // namespace
}  // namespace aqua::keeper::test
