// SPDX-License-Identifier: Apache-2.0
// Steps of `fifo` whose blocks are saved while a layer has not come in yet: neither a move of what
// is away nor its order of copies lets old bytes of the frame reach it.
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "systems/layer_swap/act/steps.hpp"
#include "tests/runtime/lent_memory_fixture.hpp"

namespace aqua::layer_swap {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;

const LayerPoolOptions kFourLayers{.layers = 4,
                                   .planes_per_layer = 1,
                                   .block_bytes = 512_KiB,
                                   .device_bytes = 24_MiB,
                                   .frames = 3,
                                   .schedule = "fifo"};

class FifoSaves : public test::LentMemoryFixture {
 protected:
  FifoSaves() : LentMemoryFixture(32_MiB) {}
  void SetUp() override {
    open_lender();
    open_borrower();
    await_lent();
    stream_ = *emulated::create_stream(*borrower_);
    gate_ = *emulated::create_stream(*borrower_);
    memory_.emplace(*FrameMemory::create(*borrower_, kFourLayers));
    auto shape = *memory_->shape_of(kFourLayers.frames);
    away_.emplace(detail::Internals::view(*borrower_), kFourLayers.layers,
                  kFourLayers.planes_per_layer, kFourLayers.block_bytes, "away");
    ASSERT_TRUE(away_->extend(shape.streamed, shape.blocks).ok());
    ASSERT_EQ(away_->peer_bytes(), lent_);
    ASSERT_TRUE(memory_->map(shape).ok());
    memory_->take(std::move(shape));
    in_.emplace(*SideStream::create(*borrower_));
    out_.emplace(*SideStream::create(*borrower_));
    steps_.emplace(detail::Internals::view(*borrower_), kFourLayers, *memory_, *away_, *in_, *out_);
    steps_->lay_out();
  }
  void TearDown() override {
    if (!steps_) return;  // what set this up has failed
    open_gate();
    settle();
    EXPECT_TRUE(emulated::destroy_stream(*borrower_, stream_).ok());
    EXPECT_TRUE(emulated::destroy_stream(*borrower_, gate_).ok());
  }
  void settle() {
    EXPECT_TRUE(emulated::synchronize(*borrower_, stream_).ok());
    EXPECT_TRUE(out_->wait().ok());
    EXPECT_TRUE(in_->wait().ok());
  }
  // Copies in that are posted from now on begin a moment after the gate opens, in which copies that
  // do not wait for them are over. No event tells of those: there are none.
  void close_gate() {
    ASSERT_TRUE(emulated::launch(*borrower_, gate_, [open = open_] {
                  open->wait(false);
                  std::this_thread::sleep_for(milliseconds(50));
                }).ok());
    ASSERT_TRUE(in_->run_after(gate_).ok());
  }
  void open_gate() {
    *open_ = true;
    open_->notify_all();
  }
  // A step that stamps block 0 of each layer. What was posted before the last layer is complete
  // when that begins; what it brings in, for the next step, waits at the gate.
  void step_up_to_the_gate() {
    ASSERT_TRUE(steps_->begin(stream_, {}, std::array{0U}).ok());
    for (std::uint32_t layer = 0; layer < kFourLayers.layers; ++layer) {
      settle();
      if (layer + 1 == kFourLayers.layers) close_gate();
      const auto planes = steps_->begin_layer(layer);
      ASSERT_TRUE(planes.ok()) << planes.error().message;
      const auto kernel = [layer, base = planes->front()] {
        std::memset(emulated::kernel_view(base), static_cast<int>(layer + 1), 512_KiB);
      };
      ASSERT_TRUE(emulated::launch(*borrower_, stream_, kernel).ok());
      ASSERT_TRUE(steps_->end_layer(layer).ok());
    }
    ASSERT_TRUE(steps_->end({}).ok());
  }
  // Takes the lent memory back, until all that is away has moved to host memory. Copies that were
  // posted before still read the old places, which this returns.
  std::vector<std::pair<const std::byte*, std::size_t>> move_away() {
    std::vector<std::pair<const std::byte*, std::size_t>> places;
    for (const auto& entry : detail::Internals::impl(*borrower_).table().all()) {
      const auto pin = entry->pin(Access::read, stream_, {}).value();
      places.emplace_back(pin.data(), pin.bytes());
    }
    auto reclaim = lender_->reclaim(lent_, milliseconds(20'000));
    EXPECT_TRUE(reclaim.ok());
    if (reclaim.ok()) reclaim_ = *reclaim;
    await([&] { return away_->peer_bytes() == 0; });
    return places;
  }
  // The first byte of block 0 that is away of a layer which has a frame; it is fetched there.
  [[nodiscard]] int stamp_away(std::uint32_t layer) {
    Tickets tickets;
    const auto block = away_->split(std::array{0U});
    EXPECT_TRUE(away_->fetch(layer, memory_->layout(layer), block, in_->stream(), tickets).ok());
    EXPECT_TRUE(in_->run_before(stream_).ok());
    int stamp = 0;
    const auto kernel = [&stamp, base = memory_->planes(layer).front()] {
      stamp = std::to_integer<int>(*emulated::kernel_view(base));
    };
    EXPECT_TRUE(emulated::launch(*borrower_, stream_, kernel).ok());
    settle();
    return stamp;
  }

  Stream stream_{}, gate_{};
  Reclaim reclaim_;
  std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
  std::optional<FrameMemory> memory_;
  std::optional<AwayCopies> away_;
  std::optional<SideStream> in_, out_;
  std::optional<Steps> steps_;
};

// LayerPool's offload() and resize() save blocks between steps.
TEST_F(FifoSaves, OfALayerThatIsComingWaitForItAlsoWhereItsTensorHasMovedMeanwhile) {
  step_up_to_the_gate();
  ASSERT_EQ(memory_->schedule().state(0), LayerState::coming);
  (void)move_away();
  ASSERT_TRUE(steps_->save(std::array{0U}).ok());
  open_gate();
  settle();
  EXPECT_EQ(stamp_away(0), 1) << "it has what the frame had of another layer";
  EXPECT_TRUE(reclaim_.wait().ok());
}

// Then what is saved of it are the frame's old bytes, over the good ones.
TEST_F(FifoSaves, OfALayerThatIsComingFromMemoryThatDiesAreLost) {
  step_up_to_the_gate();
  ASSERT_EQ(memory_->schedule().state(0), LayerState::coming);
  for (const auto& [at, bytes] : move_away())
    device::poison_range(detail::Internals::impl(*borrower_).device(), at, bytes);
  ASSERT_TRUE(steps_->save(std::array{0U}).ok());
  open_gate();
  settle();
  const auto sound = steps_->check_sound();
  ASSERT_FALSE(sound.ok()) << "a change of frames would go on with what it saved";
  EXPECT_EQ(sound.error().code, Code::data_loss) << sound.error().message;
}

}  // namespace
}  // namespace aqua::layer_swap
