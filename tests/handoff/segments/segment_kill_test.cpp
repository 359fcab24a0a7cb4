// SPDX-License-Identifier: Apache-2.0
// Writers and readers of segments, and keepers, that are killed or stopped: at each step, and at
// random.
#include <gtest/gtest.h>
#include <signal.h>

#include <deque>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "tests/keeper/kept_descriptors.hpp"
#include "tests/keeper/peer_program.hpp"

namespace aqua {
namespace {

class KilledSegments : public ::testing::Test {
 protected:
  using Peer = std::unique_ptr<test::PeerProgram>;

  [[nodiscard]] Peer start() const {
    return std::make_unique<test::PeerProgram>(keeper_.socket(), AQUA_SEGMENT_PEER);
  }
  [[nodiscard]] Peer open() const {
    Peer peer = start();
    EXPECT_EQ(peer->ask("open"), "ok");
    return peer;
  }
  [[nodiscard]] std::vector<SegmentStatus> kept() const {
    return list_segments(keeper_.socket()).value();
  }
  // Once the keeper has heard of what has ended.
  void until_left(std::ptrdiff_t descriptors) {
    while (!kept().empty()) std::this_thread::yield();
    while (test::kept_descriptors(keeper_) != descriptors) std::this_thread::yield();
  }
  static std::string number_of(const std::string& name) { return name.substr(0, name.find(' ')); }
  // Writes with every segment that the writer has, and it has not got this one.
  static void write_elsewhere(const Peer& writer, const std::string& name) {
    for (int i = 0; i < 6; ++i) {
      const std::string next = writer->ask("write 1" + std::to_string(i) + " 8");
      ASSERT_TRUE(is_name(next)) << next;
      ASSERT_NE(number_of(next), number_of(name));
    }
  }
  static bool is_name(const std::string& words) {
    return !words.empty() && words[0] >= '1' && words[0] <= '9';
  }

  mutable test::KeeperProcess keeper_;
};

TEST_F(KilledSegments, WhatAWriterHasCommittedOutlivesIt) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    const Peer writer = open();
    const std::string first = writer->ask("write 7 6");
    ASSERT_TRUE(is_name(first)) << first;
    const std::string second = writer->ask("write 8 3");
    ASSERT_EQ(writer->ask("take 4"), "ok") << "which goes with it";
    writer->kill();
    const Peer reader = open();
    EXPECT_EQ(reader->ask("read " + first + " 7"), "ok");
    EXPECT_EQ(reader->ask("close drop"), "ok");
    EXPECT_EQ(reader->ask("read " + second + " 8"), "ok");
    EXPECT_EQ(reader->ask("close drop"), "ok");
    EXPECT_EQ(reader->ask("leave"), "ok");
  }
  until_left(before);
}

class WriterKilledAtStep : public KilledSegments,
                           public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Steps, WriterKilledAtStep,
                         ::testing::Values("join", "reserve", "map", "commit"),
                         [](const auto& step) { return step.param; });

TEST_P(WriterKilledAtStep, LeavesNothingAndAnotherWrites) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    const Peer first = start();
    if (GetParam() == "commit") {
      ASSERT_EQ(first->ask("open"), "ok");
    }
    ASSERT_EQ(first->ask("stop-at " + GetParam()), "ok");
    const std::string at = "at " + GetParam();
    if (GetParam() == "commit") {
      first->post("write 7 6");
      ASSERT_EQ(first->answer(), at);
    } else {
      ASSERT_EQ(first->ask("open"), at);
    }
    EXPECT_TRUE(kept().empty());
    first->kill();
    until_left(before);
    const Peer second = open();
    const Peer reader = open();
    const std::string name = second->ask("write 9 6");
    EXPECT_EQ(reader->ask("read " + name + " 9"), "ok");
    EXPECT_EQ(reader->ask("close drop"), "ok");
    EXPECT_EQ(reader->ask("leave"), "ok");
    EXPECT_EQ(second->ask("leave"), "ok");
  }
  until_left(before);
}

TEST_F(KilledSegments, AReaderThatDiesLeavesItToTheNext) {
  const Peer writer = open();
  const std::string name = writer->ask("write 7 6");
  const Peer first = open();
  ASSERT_EQ(first->ask("stop-at open"), "ok");
  first->post("read " + name + " 7");
  ASSERT_EQ(first->answer(), "at open");
  first->kill();
  const Peer second = open();
  ASSERT_EQ(second->ask("stop-at map"), "ok");  // the keeper takes it for a reader by then
  second->post("read " + name + " 7");
  ASSERT_EQ(second->answer(), "at map");
  ASSERT_EQ(kept().at(0).readers, 1U);
  second->kill();
  const Peer third = open();
  ASSERT_EQ(third->ask("read " + name + " 7"), "ok");
  third->kill();
  const Peer last = open();
  EXPECT_EQ(last->ask("read " + name + " 7"), "ok");
  EXPECT_EQ(last->ask("close drop"), "ok");
  EXPECT_EQ(writer->ask("ready"), "ok");
}

// Whatever it was doing with the bytes, they do not change under it.
TEST_F(KilledSegments, AStoppedReaderKeepsItsBytesUntilItHasEnded) {
  const Peer writer = open();
  const Peer reader = open();
  const Peer other = open();
  const std::string name = writer->ask("write 7 6");
  ASSERT_EQ(reader->ask("read " + name + " 7"), "ok");
  ::kill(reader->pid(), SIGSTOP);
  ASSERT_EQ(other->ask("read " + name + " 7"), "ok");
  ASSERT_EQ(other->ask("close drop"), "ok");
  write_elsewhere(writer, name);
  ::kill(reader->pid(), SIGCONT);
  EXPECT_EQ(reader->ask("check 7"), "ok");
}

TEST_F(KilledSegments, AReaderThatHungUpKeepsItsBytesUntilItHasEnded) {
  const Peer writer = open();
  const Peer reader = open();
  const std::string name = writer->ask("write 7 6");
  ASSERT_EQ(reader->ask("read " + name + " 7"), "ok");
  ASSERT_EQ(reader->ask("hang-up"), "ok");
  std::uint64_t number = 0, generation = 0;
  std::istringstream(name) >> number >> generation;
  ASSERT_TRUE(drop_segment(number, generation, keeper_.socket()).ok());
  write_elsewhere(writer, name);
  EXPECT_EQ(reader->ask("check 7"), "ok");
  writer->post("ready");
  reader->kill();
  for (const SegmentStatus& row : kept()) {
    ASSERT_TRUE(drop_segment(row.name.number, row.name.generation, keeper_.socket()).ok());
  }
  EXPECT_EQ(writer->answer(), "ok") << "it has all of them back";
}

TEST_F(KilledSegments, AStoppedWriterIsNotNeededToReadWhatItHasCommitted) {
  const Peer writer = open();
  const std::string name = writer->ask("write 7 6");
  ::kill(writer->pid(), SIGSTOP);
  const Peer reader = open();
  EXPECT_EQ(reader->ask("read " + name + " 7"), "ok");
  EXPECT_EQ(reader->ask("close drop"), "ok");
  ::kill(writer->pid(), SIGCONT);
  EXPECT_EQ(writer->ask("ready"), "ok");
}

TEST_F(KilledSegments, NoCallOfAnEngineWaitsForAStoppedKeeper) {
  const Peer writer = open();
  const Peer reader = open();
  const std::string name = writer->ask("write 7 6");
  keeper_.process().stop();
  EXPECT_EQ(writer->ask("post 8 6"), "ok");
  EXPECT_EQ(reader->ask("begin " + name), "ok");
  writer->post("committed");
  keeper_.process().signal(SIGCONT);
  EXPECT_TRUE(is_name(writer->answer()));
}

class KeeperKilledAtStep : public KilledSegments,
                           public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Steps, KeeperKilledAtStep, ::testing::Values("commit", "open"),
                         [](const auto& step) { return step.param; });

TEST_P(KeeperKilledAtStep, IsToldAndTheNextOneServes) {
  const Peer writer = open();
  const Peer reader = open();
  const std::string name = writer->ask("write 7 6");
  ASSERT_EQ(reader->ask("read " + name + " 7"), "ok");
  const Peer victim = open();
  ASSERT_EQ(victim->ask("stop-at " + GetParam()), "ok");
  victim->post(GetParam() == "commit" ? "write 8 6" : "read " + name + " 7");
  ASSERT_EQ(victim->answer(), "at " + GetParam());
  keeper_.kill();
  victim->post("go on");
  EXPECT_EQ(victim->answer(), "unavailable");
  EXPECT_EQ(reader->ask("check 7"), "ok") << "what is mapped stays";
  keeper_.start();
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(victim->ask("open"), "ok");
  EXPECT_EQ(reader->ask("open"), "ok");
  const std::string next = victim->ask("write 9 6");
  EXPECT_EQ(reader->ask("read " + next + " 9"), "ok");
}

// Writers, readers and the keeper die at random moments of whatever they do. Whatever was committed
// is read whole by one reader or another, and at the end nothing is left.
TEST_F(KilledSegments, AtRandomMomentsNoByteIsWrongAndNothingIsLeft) {
  const int rounds = test::random_rounds();
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  std::mt19937_64 random(std::random_device{}());
  const std::uint64_t seed = random();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random.seed(seed);
  struct Written {
    std::string stamp, name;
  };
  std::deque<Written> written;
  Peer writer, reader;
  // Hears one more that is committed; false: the writer has ended, or writes no more.
  const auto hear = [&] {
    const std::string said = writer->answer();
    if (!said.starts_with("wrote ")) {
      EXPECT_TRUE(said == "ok" || said == "dead" || said == "no keeper") << said;
      return false;
    }
    std::istringstream words(said.substr(6));
    Written one;
    words >> one.stamp;
    std::getline(words >> std::ws, one.name);
    EXPECT_TRUE(is_name(one.name)) << said;
    written.push_back(one);
    return true;
  };
  int read = 0;
  for (int round = 0; round < rounds; ++round) {
    if (writer == nullptr) writer = open();
    if (reader == nullptr) reader = open();
    writer->post("writes 6");
    switch (random() % 8) {
      case 0:
        if (random() % 2 == 0) (void)hear();
        keeper_.kill();
        keeper_.start();
        while (hear()) continue;
        written.clear();  // went with the keeper
        writer.reset();
        reader.reset();
        continue;
      case 1:
      case 2:
      case 3:  // it may be anywhere; what it has said is there
        for (std::uint64_t i = random() % 4; i > 0; --i) (void)hear();
        writer->kill();
        while (hear()) continue;
        writer.reset();
        break;
      case 4:
      case 5:  // while it opens
        while (hear()) continue;
        reader->post("read " + written.front().name + " " + written.front().stamp);
        reader->kill();
        reader = open();
        break;
      default:
        while (hear()) continue;
    }
    for (std::uint64_t i = 4 + random() % 4; i > 0 && !written.empty(); --i) {
      const Written one = written.front();
      ASSERT_EQ(reader->ask("read " + one.name + " " + one.stamp), "ok");
      ASSERT_EQ(reader->ask("close drop"), "ok");
      written.pop_front();
      ++read;
    }
  }
  writer.reset();
  reader = open();
  for (const Written& one : written) {
    ASSERT_EQ(reader->ask("read " + one.name + " " + one.stamp), "ok");
    ASSERT_EQ(reader->ask("close drop"), "ok");
    ++read;
  }
  ASSERT_EQ(reader->ask("leave"), "ok");
  reader.reset();
  // What was committed, and its writer did not get to say.
  for (const SegmentStatus& row : kept()) {
    EXPECT_FALSE(row.has_writer);
    EXPECT_TRUE(drop_segment(row.name.number, row.name.generation, keeper_.socket()).ok());
  }
  until_left(before);
  RecordProperty("read", read);
  EXPECT_GT(read, rounds);
}

}  // namespace
}  // namespace aqua
