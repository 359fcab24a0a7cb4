// SPDX-License-Identifier: Apache-2.0
#include "runtime/borrow/evacuation.hpp"

#include <gtest/gtest.h>

#include "device/memfd/device.hpp"
#include "tests/transfer/faulty_device.hpp"

namespace aqua::runtime {
namespace {

using namespace aqua::literals;

// A device that dies: whatever is recorded from then on finds it dead.
class MortalDevice : public test::FaultyDevice {
 public:
  using FaultyDevice::FaultyDevice;
  Result<void> record(Event& event, Stream stream) override {
    if (dead) return Error{Code::data_loss, "record: the device has died"};
    return FaultyDevice::record(event, stream);
  }
  bool dead = false;
};

// The one who learns first that the bytes are gone is whoever releases a pin, and no copy is ever
// started of them.
TEST(Evacuation, GivesASlabBackWhoseTensorWasFoundLostWhenItsPinWasReleased) {
  constexpr std::size_t kSlab = 4_MiB;
  const auto gpu = device::open_emulated({.total_bytes = 64_MiB}).value();
  MortalDevice device(*gpu);
  const auto importer = lending::Importer::open(device, random_id<ClientTag>(), 2 * kSlab).value();
  // No byte is copied here, so the slab need not be mapped, and the host tier only has addresses.
  const auto host_addresses = device.reserve(kSlab).value();
  const auto host = tensor::Space::create(Tier::host, host_addresses->base(), kSlab).value();
  const auto peer =
      tensor::Space::create(Tier::peer, importer->base(), importer->arena_bytes()).value();
  ASSERT_TRUE(host->add_slab(0, kSlab).ok());
  ASSERT_TRUE(peer->add_slab(0, kSlab).ok());
  tensor::TensorTable table(device, {.host = host.get(), .peer = peer.get()}, [] {});
  const auto migrator = tensor::Migrator::create(device).value();
  int losses = 0;
  Callbacks callbacks;
  callbacks.on_data_loss = [&](std::uint64_t, const std::string&) { ++losses; };

  ControlLoop loop;
  SerialQueue calls;
  SerialQueue unmapping;
  CallbackQueue telling(true);
  Services services{loop,
                    calls,
                    unmapping,
                    telling,
                    nullptr,
                    [](LogLevel, const std::string&) {},
                    [](BudgetReason) {}};
  BorrowedSlabs slabs;
  Evacuation evacuation(services, {*importer, *peer, table, *migrator, callbacks}, slabs);

  AquaTensor tensor = table.allocate({.bytes = 1_MiB}).value();
  ASSERT_EQ(tensor.tier(), Tier::peer);
  const Stream stream = device.create_stream().value();
  auto pin = tensor.pin(Access::write, stream).value();
  device.dead = true;
  pin.release();
  device.dead = false;
  ASSERT_TRUE(tensor.lost());

  const auto now = Clock::now();
  evacuation.revoke(slabs.add({random_id<ClientTag>(), 1, 1},
                              BorrowedSlab{.bytes = kSlab, .offset = 0, .exchange = {}}),
                    now);
  evacuation.step(now);
  evacuation.step(now);
  EXPECT_EQ(slabs.bytes(), 0U) << "the slab never comes back";
  telling.tick();
  EXPECT_EQ(losses, 1) << "and its owner is told once";
  unmapping.stop();
}

}  // namespace
}  // namespace aqua::runtime
