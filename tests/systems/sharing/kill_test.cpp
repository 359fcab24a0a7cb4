// SPDX-License-Identifier: Apache-2.0
// Publishers, readers and keepers that are killed: at each step, and at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "aqua/sharing/models.hpp"
#include "tests/keeper/kept_descriptors.hpp"
#include "tests/keeper/peer_program.hpp"
#include "tests/systems/sharing/small_file.hpp"

namespace aqua::sharing {
namespace {

class KilledWeights : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<ModelStatus> models() { return list_models(keeper_.socket()).value(); }

  test::KeeperProcess keeper_;
};

using Step = std::string;
class KilledAtStep : public KilledWeights, public ::testing::WithParamInterface<Step> {};
INSTANTIATE_TEST_SUITE_P(Publish, KilledAtStep, ::testing::Values("seal", "publish", "commit"),
                         [](const auto& step) { return step.param; });

TEST_P(KilledAtStep, APublisherLeavesNothingAndAnotherPublishes) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("stop-at " + GetParam()), "ok");
  ASSERT_EQ(publisher.ask("publish 1 7"), "at " + GetParam());
  EXPECT_EQ(models().front().filling, 1U);
  publisher.kill();
  EXPECT_TRUE(models().empty());
  test::PeerProgram next(keeper_.socket());
  EXPECT_EQ(next.ask("attach 1").substr(0, 9), "not_found");
  EXPECT_EQ(next.ask("publish 1 8"), "ok");
  EXPECT_EQ(next.ask("attach 1"), "1");
  EXPECT_EQ(next.ask("check 8"), "ok");
  next.kill();
  EXPECT_TRUE(retire_model("small", "1", keeper_.socket()).ok());
  EXPECT_TRUE(models().empty());
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
}

TEST_P(KilledAtStep, AKeeperFailsThePublisherWhichBeginsAnew) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("stop-at " + GetParam()), "ok");
  ASSERT_EQ(publisher.ask("publish 1 7"), "at " + GetParam());
  keeper_.kill();
  publisher.post("go on");
  EXPECT_EQ(publisher.answer().substr(0, 11), "unavailable");
  keeper_.start();
  EXPECT_TRUE(models().empty());
  EXPECT_EQ(publisher.ask("publish 1 7"), "ok") << "its memory came back";
  EXPECT_EQ(publisher.ask("attach -"), "1");
  EXPECT_EQ(publisher.ask("check 7"), "ok");
}

class ReaderAtStep : public KilledWeights, public ::testing::WithParamInterface<Step> {};
INSTANTIATE_TEST_SUITE_P(Attach, ReaderAtStep, ::testing::Values("attach", "map"),
                         [](const auto& step) { return step.param; });

TEST_P(ReaderAtStep, KilledThereItIsForgotten) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 7"), "ok");
  test::PeerProgram reader(keeper_.socket());
  ASSERT_EQ(reader.ask("stop-at " + GetParam()), "ok");
  ASSERT_EQ(reader.ask("attach 1"), "at " + GetParam());
  reader.kill();
  EXPECT_EQ(models().front().readers, 0U);
  EXPECT_EQ(publisher.ask("attach 1"), "1");
  EXPECT_EQ(publisher.ask("check 7"), "ok");
}

// By then it has the descriptors, or none.
TEST_P(ReaderAtStep, WhoseKeeperIsKilledThereHasAllOfItOrNothing) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 7"), "ok");
  test::PeerProgram reader(keeper_.socket());
  ASSERT_EQ(reader.ask("stop-at " + GetParam()), "ok");
  ASSERT_EQ(reader.ask("attach 1"), "at " + GetParam());
  keeper_.kill();
  reader.post("go on");
  if (GetParam() == "attach") {
    EXPECT_EQ(reader.answer().substr(0, 11), "unavailable");
  } else {
    EXPECT_EQ(reader.answer(), "1");
    EXPECT_EQ(reader.ask("check 7"), "ok");
  }
}

class CopierAtStep : public KilledWeights, public ::testing::WithParamInterface<Step> {};
INSTANTIATE_TEST_SUITE_P(Copy, CopierAtStep,
                         ::testing::Values("attach", "map", "copy", "seal", "publish", "commit"),
                         [](const auto& step) { return step.param; });

TEST_P(CopierAtStep, KilledThereItLeavesNothingAndAnotherCopies) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 7"), "ok");
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  test::PeerProgram copier(keeper_.socket());
  ASSERT_EQ(copier.ask("stop-at " + GetParam()), "ok");
  ASSERT_EQ(copier.ask("copy 1"), "at " + GetParam());
  copier.kill();
  const ModelStatus left = models().front();
  EXPECT_EQ(left.copies, 1U);
  EXPECT_EQ(left.readers + left.filling, 0U);
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
  EXPECT_EQ(publisher.ask("copy 1"), "ok");
  EXPECT_EQ(publisher.ask("check-copy 7"), "ok");
  EXPECT_EQ(models().front().copies, 2U);
}

TEST_P(CopierAtStep, WhoseKeeperIsKilledThereFailsAndCopiesFromTheNext) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 7"), "ok");
  test::PeerProgram copier(keeper_.socket());
  ASSERT_EQ(copier.ask("stop-at " + GetParam()), "ok");
  ASSERT_EQ(copier.ask("copy 1"), "at " + GetParam());
  keeper_.kill();
  copier.post("go on");
  EXPECT_EQ(copier.answer().substr(0, 11), "unavailable");
  keeper_.start();
  EXPECT_TRUE(models().empty());
  ASSERT_EQ(publisher.ask("publish 1 8"), "ok");
  EXPECT_EQ(copier.ask("copy 1"), "ok") << "its memory came back";
  EXPECT_EQ(copier.ask("check-copy 8"), "ok");
}

class TrimmerAtStep : public KilledWeights, public ::testing::WithParamInterface<Step> {};
INSTANTIATE_TEST_SUITE_P(Trim, TrimmerAtStep,
                         ::testing::Values("attach", "map", "copy", "seal", "publish", "commit",
                                           "drop"),
                         [](const auto& step) { return step.param; });

TEST_P(TrimmerAtStep, KilledThereItTakesNothingFromTheDeviceAndAnotherTrims) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 7"), "ok");
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  test::PeerProgram trimmer(keeper_.socket());
  ASSERT_EQ(trimmer.ask("stop-at " + GetParam()), "ok");
  ASSERT_EQ(trimmer.ask("trim"), "at " + GetParam());
  trimmer.kill();
  const ModelStatus left = models().front();
  const bool copied = GetParam() == "drop";
  EXPECT_EQ(left.copies, copied ? 2U : 1U);
  EXPECT_EQ(left.readers + left.filling, 0U);
  if (!copied) {
    EXPECT_EQ(test::kept_descriptors(keeper_), before);
  }
  EXPECT_EQ(publisher.ask("attach 1"), "1");
  EXPECT_EQ(publisher.ask("check 7"), "ok");
  EXPECT_EQ(publisher.ask("suspend"), "ok");
  EXPECT_EQ(publisher.ask("trim"), "ok");
  EXPECT_EQ(publisher.ask("resume").substr(0, 19), "failed_precondition");
  EXPECT_EQ(publisher.ask("bring-back 1"), "ok");
  EXPECT_EQ(publisher.ask("resume"), "ok");
  EXPECT_EQ(publisher.ask("check 7"), "ok");
}

TEST_P(TrimmerAtStep, WhoseKeeperIsKilledThereFailsAndTrimsWithTheNext) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 7"), "ok");
  test::PeerProgram trimmer(keeper_.socket());
  ASSERT_EQ(trimmer.ask("stop-at " + GetParam()), "ok");
  ASSERT_EQ(trimmer.ask("trim"), "at " + GetParam());
  keeper_.kill();
  trimmer.post("go on");
  EXPECT_EQ(trimmer.answer().substr(0, 11), "unavailable");
  keeper_.start();
  EXPECT_TRUE(models().empty());
  ASSERT_EQ(publisher.ask("publish 1 8"), "ok");
  EXPECT_EQ(trimmer.ask("trim"), "ok");
  EXPECT_EQ(publisher.ask("bring-back 1"), "ok");
  EXPECT_EQ(publisher.ask("attach 1"), "1");
  EXPECT_EQ(publisher.ask("check 8"), "ok");
}

TEST_F(KilledWeights, ALoaderWhoseKeeperIsKilledWhileItReadsFailsAndLoadsWithTheNext) {
  const aqua::testing::TempDir directory;
  const std::string file = small_file(directory, 7);
  test::PeerProgram loader(keeper_.socket());
  ASSERT_EQ(loader.ask("stop-at read"), "ok");
  ASSERT_EQ(loader.ask("load " + file + " 1"), "at read");
  keeper_.kill();
  loader.post("go on");
  EXPECT_EQ(loader.answer().substr(0, 11), "unavailable");
  keeper_.start();
  EXPECT_TRUE(models().empty());
  EXPECT_EQ(loader.ask("load " + file + " 1"), "ok");
  EXPECT_EQ(loader.ask("attach 1"), "1");
  EXPECT_EQ(loader.ask("check 7"), "ok");
}

TEST_F(KilledWeights, ALoaderThatIsKilledWhileItReadsLeavesNothingAndAnotherLoads) {
  const aqua::testing::TempDir directory;
  const std::string file = small_file(directory, 7);
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  test::PeerProgram loader(keeper_.socket());
  ASSERT_EQ(loader.ask("stop-at read"), "ok");
  ASSERT_EQ(loader.ask("load " + file + " 1"), "at read");
  EXPECT_EQ(models().front().filling, 1U);
  loader.kill();
  EXPECT_TRUE(models().empty());
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
  test::PeerProgram next(keeper_.socket());
  EXPECT_EQ(next.ask("load " + file + " 1"), "ok");
  EXPECT_EQ(next.ask("attach 1"), "1");
  EXPECT_EQ(next.ask("check 7"), "ok");
}

TEST_F(KilledWeights, AReaderThatIsKilledLetsASupersededVersionGo) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 1"), "ok");
  test::PeerProgram reader(keeper_.socket());
  ASSERT_EQ(reader.ask("attach -"), "1");
  ASSERT_EQ(publisher.ask("publish 2 2"), "ok");
  EXPECT_EQ(models().size(), 2U);
  EXPECT_EQ(reader.ask("check 1"), "ok");
  reader.kill();
  ASSERT_EQ(models().size(), 1U);
  EXPECT_EQ(models().front().version, "2");
}

// Publishers, loaders, copiers, trimmers, readers and the keeper die at random moments of whatever
// they do. Whatever is attached has the bytes of its version, and at the end the keeper has nothing
// left open. Goes on for as many rounds as it takes to have checked some.
TEST_F(KilledWeights, AtRandomMomentsNoByteIsWrongAndNothingIsLeft) {
  const int rounds = test::random_rounds();
  const aqua::testing::TempDir directory;
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  std::mt19937_64 random(std::random_device{}());
  const std::uint64_t seed = random();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random.seed(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<std::unique_ptr<test::PeerProgram>> peers;
  int version = 0;
  int checked = 0;
  for (int round = 0; round < rounds || checked <= rounds / 8; ++round) {
    ASSERT_LT(round, 20 * rounds) << "hardly anything was ever attached";
    while (peers.size() < 3) peers.push_back(std::make_unique<test::PeerProgram>(keeper_.socket()));
    for (const auto& peer : peers) {
      // Two may publish or load the same version: one of them is refused.
      if (below(2) == 0) version += static_cast<int>(below(2));
      const std::string of = std::to_string(version);
      const auto bytes = static_cast<std::uint64_t>(1000 + version);  // their seed
      switch (below(7)) {
        case 0:
          peer->post("publish " + of + " " + std::to_string(bytes));
          break;
        case 1:
          peer->post("load " + small_file(directory, bytes) + " " + of);
          break;
        case 2:
          peer->post("copy -");
          break;
        case 3:
          peer->post("trim");
          break;
        case 4:
          peer->post("bring-back -");
          break;
        default:
          peer->post("attach -");
      }
    }
    std::this_thread::yield();
    const std::size_t victim = below(peers.size() + 1);
    if (victim == peers.size()) {
      keeper_.kill();
      keeper_.start();
    } else {
      peers[victim]->kill();
      peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    for (const auto& peer : peers) {
      const std::string answer = peer->answer();
      ASSERT_NE(answer, "dead");
      if (answer.empty() || !std::isdigit(static_cast<unsigned char>(answer[0]))) continue;
      ++checked;
      ASSERT_EQ(peer->ask("check " + std::to_string(1000 + std::atoi(answer.c_str()))), "ok");
    }
  }
  peers.clear();
  for (const ModelStatus& left : models()) {
    EXPECT_EQ(left.readers + left.filling, 0U);
    EXPECT_TRUE(retire_model(left.model, left.version, keeper_.socket()).ok());
  }
  EXPECT_TRUE(models().empty());
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
  RecordProperty("checked", checked);
}

}  // namespace
}  // namespace aqua::sharing
