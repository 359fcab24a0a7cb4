// SPDX-License-Identifier: Apache-2.0
// The Mover takes the way that the planner names, of those that device and stream take, and
// asks the device for it by name.
#include <gtest/gtest.h>

#include <set>

#include "tests/transfer/curves/synthetic_link.hpp"
#include "tests/transfer/faulty_device.hpp"
#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using namespace transfer;
using device::CopyMethod;

// Has every method on every stream but the default one, and notes what it is asked for.
class ManyWays final : public FaultyDevice {
 public:
  using FaultyDevice::FaultyDevice;
  [[nodiscard]] bool supports(CopyMethod method, Stream stream) const noexcept override {
    return method != CopyMethod::batched || stream != Stream{};
  }
  [[nodiscard]] bool capturing(Stream) const noexcept override { return captured; }
  Result<std::unique_ptr<Event>> create_event(device::EventKind kind) override {
    ++events;
    return FaultyDevice::create_event(kind);
  }
  Result<void> copy(device::CopyBatch batch, Stream stream,
                    const device::CopyOptions& options) override {
    note(options);
    return FaultyDevice::copy(std::move(batch), stream, options);
  }
  Result<void> copy_blocks(device::BlockTable& table, const device::PieceRange& pieces,
                           Stream stream, const device::CopyOptions& options) override {
    note(options);
    return FaultyDevice::copy_blocks(table, pieces, stream, options);
  }
  std::set<CopyMethod> asked;
  std::set<unsigned> sms;
  unsigned copies = 0;
  unsigned events = 0;  // made
  bool captured = false;

 private:
  void note(const device::CopyOptions& options) {
    asked.insert(options.method);
    sms.insert(options.max_sms);
    ++copies;
  }
};

// On which `fast` takes a tenth of the time of the others, over one link in one direction.
CurveSet favouring(Link link, Direction direction, Way fast) {
  std::minstd_rand random(1);
  CurveSet set;
  for (const Link l : kLinks) {
    for (const Direction d : kDirections) {
      for (const Way w : kWays) {
        const bool here = l == link && d == direction && w == fast;
        const double slow = here ? 1 : w == Way::each ? 10 : 20;
        set.at(l, d, w) =
            Curve::make(test::measure({slow * 1e-5, slow * 1e-7, 50e9 / slow}, 0, random)).value();
      }
    }
  }
  return set;
}

class ChoiceTest : public ::testing::Test {
 protected:
  ~ChoiceTest() override { must(inner->destroy_stream(stream)); }
  [[nodiscard]] TransferRequest request(Link link, Direction direction) const {
    TransferRequest r;
    r.layout = &cache.layout;
    r.blocks = blocks;
    r.tensor = tensor.base();
    r.tensor_bytes = tensor.bytes();
    r.link = link;
    r.direction = direction;
    r.stream = stream;
    return r;
  }
  const Geometry geometry{"", 2, 2, 16, 1000, 1, 1000, 0, 16'000};
  std::unique_ptr<device::Device> inner = open(kAnyDevice);
  ManyWays dev{*inner};
  Stream stream = must(inner->create_stream());
  TestCache cache{*inner, geometry, 1};
  std::vector<std::uint32_t> blocks{1, 5, 9};
  DeviceMemory tensor{*inner, cache.layout.packed_bytes(3)};
};

TEST_F(ChoiceTest, FollowsTheCurvesOfTheLinkAndTheDirection) {
  for (const Link link : kLinks) {
    for (const Direction direction : kDirections) {
      for (const Way way : kWays) {
        Mover mover(dev, {.curves = std::make_shared<CurveSet>(favouring(link, direction, way))});
        auto transfer = must(mover.prepare(request(link, direction)));
        EXPECT_EQ(transfer.way(), way);
        EXPECT_EQ(transfer.choice().reason, Reason::fastest);
        const Direction other =
            direction == Direction::fetch ? Direction::offload : Direction::fetch;
        EXPECT_EQ(must(mover.prepare(request(link, other))).way(), Way::each);
        dev.asked.clear();
        must(transfer.post(stream));
        must(transfer.ticket().wait());
        std::set<CopyMethod> expected{method_of(way)};
        if (way == Way::staged) expected.insert(CopyMethod::each);
        EXPECT_EQ(dev.asked, expected) << to_string(way);
      }
    }
  }
}

// Posting them would wait for the GPU: a stream's queue holds about a thousand commands.
TEST_F(ChoiceTest, ThousandsOfPiecesAreNotPostedEachByItself) {
  const Geometry large{"", 2, 2, 1024, 1000, 1, 1000, 0, 1'024'000};
  const TestCache other(*inner, large, 1);
  const DeviceMemory far(*inner, other.layout.packed_bytes(256));
  Mover mover(
      dev,
      {.curves = std::make_shared<CurveSet>(favouring(Link::host, Direction::offload, Way::each))});
  TransferRequest r = request(Link::host, Direction::offload);
  r.layout = &other.layout;
  r.tensor = far.base();
  r.tensor_bytes = far.bytes();
  for (const std::size_t many : {128U, 129U}) {  // four pieces each
    blocks.clear();
    for (std::uint32_t i = 0; i < many; ++i) blocks.push_back(2 * i);
    r.blocks = blocks;
    const Choice choice = mover.choose_for(r).value();
    EXPECT_EQ(choice.way == Way::each, many == 128) << many;
    EXPECT_EQ(choice.estimates[0].possible, many == 128);
  }
  r.way = Way::each;
  EXPECT_EQ(must(mover.prepare(r)).way(), Way::each) << "who asks for it gets it";
}

TEST_F(ChoiceTest, ATransferTakesTheEventsOfThoseThatAreOver) {
  Mover mover(dev);
  for (const Way way : kWays) {
    TransferRequest r = request(Link::host, Direction::offload);
    r.way = way;
    for (unsigned round = 0; round < 3; ++round) {
      dev.events = 0;
      auto transfer = must(mover.prepare(r));
      must(transfer.post(stream));
      must(transfer.ticket().wait());
      if (round > 0) {
        EXPECT_EQ(dev.events, 0U) << to_string(way);
      }
    }
  }
}

TEST_F(ChoiceTest, NewCurvesServeFromTheNextTransferOn) {
  Mover mover(dev);
  mover.use(std::make_shared<CurveSet>(favouring(Link::host, Direction::fetch, Way::kernel)));
  EXPECT_EQ(must(mover.prepare(request(Link::host, Direction::fetch))).way(), Way::kernel);
  mover.use(std::make_shared<CurveSet>(favouring(Link::host, Direction::fetch, Way::batched)));
  EXPECT_EQ(must(mover.prepare(request(Link::host, Direction::fetch))).way(), Way::batched);
}

TEST_F(ChoiceTest, TakesOnlyWhatTheStreamTakes) {
  Mover mover(dev, {.curves = std::make_shared<CurveSet>(
                        favouring(Link::peer, Direction::fetch, Way::batched))});
  TransferRequest r = request(Link::peer, Direction::fetch);
  EXPECT_EQ(mover.choose_for(r).value().way, Way::batched);
  r.stream = Stream{};
  EXPECT_EQ(mover.choose_for(r).value().way, Way::each) << "no batches on the default stream";
}

TEST_F(ChoiceTest, AWayAskedForIsTakenAndSaysSo) {
  Mover mover(dev, {.max_sms = 7});
  TransferRequest r = request(Link::peer, Direction::fetch);
  r.way = Way::kernel;
  auto transfer = must(mover.prepare(r));
  EXPECT_EQ(transfer.way(), Way::kernel);
  EXPECT_EQ(transfer.choice().reason, Reason::asked_for);
  must(transfer.post(stream));
  must(transfer.ticket().wait());
  EXPECT_EQ(dev.sms, std::set<unsigned>{7});
}

TEST_F(ChoiceTest, LayersAreGroupedByTheTimeThatTheyAreExpectedToTake) {
  const Geometry deep{"", 8, 2, 16, 1000, 1, 1000, 0, 16'000};
  const TestCache other(*inner, deep, 1);
  const DeviceMemory far(*inner, other.layout.packed_bytes(3));
  TransferRequest r = request(Link::host, Direction::offload);
  r.layout = &other.layout;
  r.tensor = far.base();
  r.tensor_bytes = far.bytes();
  r.way = Way::kernel;
  MoverOptions options{
      .curves = std::make_shared<CurveSet>(favouring(Link::host, Direction::offload, Way::each))};
  const double seconds = Mover(dev, options).choose_for(r).value().seconds();
  const auto groups = [&](double share, unsigned most) {
    options.min_group = std::chrono::microseconds(static_cast<int>(1e6 * seconds * share));
    options.max_layer_groups = most;
    Mover mover(dev, options);
    auto transfer = must(mover.prepare(r));
    dev.copies = 0;
    must(transfer.post(stream));
    must(transfer.ticket().wait());
    return dev.copies;
  };
  EXPECT_EQ(groups(1.5, 16), 1U) << "one launch for what takes less than a group may";
  EXPECT_EQ(groups(0.3, 16), 3U);
  EXPECT_EQ(groups(0.01, 16), 8U) << "no more than layers";
  EXPECT_EQ(groups(0.01, 5), 5U) << "no more than asked for";
}

TEST_F(ChoiceTest, ACapturingStreamIsRefusedAndTheTransferCanStillBePosted) {
  Mover mover(dev);
  for (const Way way : kWays) {
    TransferRequest r = request(Link::host, Direction::offload);
    r.way = way;
    auto transfer = must(mover.prepare(r));
    dev.captured = true;
    dev.asked.clear();
    EXPECT_EQ(transfer.post(stream).error().code, Code::failed_precondition);
    EXPECT_TRUE(dev.asked.empty()) << "something was queued";
    EXPECT_EQ(mover.in_flight(), 0U);
    dev.captured = false;
    must(transfer.post(stream));
    must(transfer.ticket().wait());
  }
}

}  // namespace
}  // namespace aqua::test
