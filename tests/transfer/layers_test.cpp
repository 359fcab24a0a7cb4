// SPDX-License-Identifier: Apache-2.0
// Layer 0 can be used while later layers are still under way: held back here, by every way.
#include <gtest/gtest.h>

#include <future>

#include "tests/transfer/faulty_device.hpp"
#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using namespace transfer;

// Holds back the n-th copy and, in stream order, all that must come after it.
class HoldingDevice final : public FaultyDevice {
 public:
  explicit HoldingDevice(device::Device& inner) : FaultyDevice(inner), device_(inner) {}
  ~HoldingDevice() override { let_go(); }
  void hold_copy(unsigned number) {
    number_ = number;
    copies_ = 0;
  }
  void let_go() { gate_.reset(); }

  Result<void> copy(device::CopyBatch batch, Stream stream,
                    const device::CopyOptions& options) override {
    count(stream);
    return FaultyDevice::copy(std::move(batch), stream, options);
  }
  Result<void> copy_blocks(device::BlockTable& table, const device::PieceRange& pieces,
                           Stream stream, const device::CopyOptions& options) override {
    count(stream);
    return FaultyDevice::copy_blocks(table, pieces, stream, options);
  }

 private:
  void count(Stream stream) {
    if (++copies_ == number_) gate_.emplace(device_, stream);
  }

  device::Device& device_;
  std::optional<Gate> gate_;
  unsigned number_ = 0;
  unsigned copies_ = 0;
};

class Layers : public MoverTest {
 protected:
  // Every layer is one copy, or two through staging; the first of layer 1 is held.
  void run(Direction direction) {
    HoldingDevice holding(*dev);
    Mover holding_mover(holding, mover_options(std::get<1>(GetParam())));
    auto transfer = must(holding_mover.prepare(request(direction)));
    holding.hold_copy(std::get<1>(GetParam()) == Way::staged ? 3 : 2);
    must(transfer.post(stream));
    Ticket ticket = transfer.ticket();
    // One stream waits for each layer, none of them on the host.
    const Stream reader = must(dev->create_stream());
    const Stream last = must(dev->create_stream());
    must(ticket.stream_wait(reader, 0));
    must(ticket.stream_wait(last, geometry.layers - 1));
    const auto at_last = must(dev->create_event());
    must(dev->record(*at_last, last));
    expect_layer_0(direction, reader);  // reads on its stream, which waits for layer 0 alone
    while (!must(ticket.layer_done(0))) std::this_thread::yield();
    EXPECT_FALSE(must(dev->query(*at_last)));
    for (unsigned layer = 1; layer < geometry.layers; ++layer) {
      EXPECT_FALSE(must(ticket.layer_done(layer))) << layer;
    }
    EXPECT_FALSE(must(ticket.done()));
    holding.let_go();
    must(ticket.wait());
    EXPECT_TRUE(must(ticket.layer_done(geometry.layers - 1)));
    must(dev->synchronize(*at_last));
    EXPECT_EQ(ticket.stream_wait(reader, geometry.layers).error().code, Code::invalid_argument);
    must(ticket.stream_wait(reader, 0));  // nothing to wait for any more
    must(dev->destroy_stream(last));
    must(dev->destroy_stream(reader));
  }
  void expect_layer_0(Direction direction, Stream reader) {
    const std::size_t layer_bytes = packed() / geometry.layers;
    Bytes expected = packed_form(cache.model);
    Bytes seen = direction == Direction::offload
                     ? tensor.read(kOffset, layer_bytes, reader)
                     : packed_form(cache.memory.read(0, cache.memory.bytes(), reader));
    expected.resize(layer_bytes);
    seen.resize(layer_bytes);
    EXPECT_TRUE(seen == expected);
  }
};

TEST_P(Layers, TheFirstOfAnOffloadIsUsableWhileTheOthersAreHeldBack) {
  run(Direction::offload);
}

TEST_P(Layers, TheFirstOfAFetchIsUsableWhileTheOthersAreHeldBack) {
  auto out = must(mover->prepare(request(Direction::offload)));
  must(out.post(stream));
  must(out.ticket().wait());
  cache.memory.write(Bytes(cache.memory.bytes()));
  run(Direction::fetch);
}

INSTANTIATE_TEST_SUITE_P(Devices, Layers, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
