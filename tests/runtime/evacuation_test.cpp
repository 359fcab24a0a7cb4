// SPDX-License-Identifier: Apache-2.0
#include "runtime/borrow/evacuation.hpp"

#include <gtest/gtest.h>

#include <future>

#include "device/memfd/device.hpp"
#include "lending/exporter.hpp"
#include "tests/runtime/runtime_fixture.hpp"
#include "tests/runtime/scripted_coordinator.hpp"
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

class Silent : public southbound::Listener {
  void on_connected(const southbound::Session&) override {}
  void on_snapshot(const wire::Snapshot&) override {}
  void on_events(std::span<const ledger::Event>) override {}
  void on_disconnected(const Error&) override {}
  void on_unreachable(const Error&) override {}
};

// A slab of a lender, mapped and revoked here, before a coordinator that counts what it is told.
class RevokedSlab : public test::RuntimeFixture {
 protected:
  static constexpr std::size_t kSlab = 4_MiB;
  static constexpr const char* kReturn = "POST /v1/leases/return";

  ~RevokedSlab() override {
    unmapping_.stop();
    calls_.stop();
    client_->close();
  }
  [[nodiscard]] std::unique_ptr<southbound::Client> connect() {
    southbound::Options options;
    options.coordinator = coordinator_.address();
    options.info.id = random_id<ClientTag>();
    options.info.consumer = true;
    return southbound::Client::open(std::move(options), listener_).value();
  }
  [[nodiscard]] lending::LeasedSlab lease() {
    std::vector<std::unique_ptr<device::Slab>> slabs;
    slabs.push_back(lender_->create_slab(kSlab).value());
    const auto offered = exporter_->put_up(slabs).value();
    return {.key = {random_id<ClientTag>(), offered[0].index, offered[0].generation},
            .bytes = kSlab,
            .secret = offered[0].secret,
            .exchange = exporter_->socket_path()};
  }

  test::ScriptedCoordinator coordinator_{directory_, [](const std::string&) {
                                           return std::optional<test::ScriptedCoordinator::Reply>();
                                         }};
  Silent listener_;
  std::unique_ptr<southbound::Client> client_ = connect();
  std::unique_ptr<device::Device> lender_ = device::open_emulated({.total_bytes = 64_MiB}).value();
  std::unique_ptr<device::Device> gpu_ =
      device::open_emulated({.ordinal = 1, .total_bytes = 64_MiB}).value();
  std::unique_ptr<lending::Exporter> exporter_ =
      lending::Exporter::open(*lender_, {.socket_path = directory_ + "/x", .arena_bytes = 64_MiB},
                              [](const lending::SlabStatus&) {})
          .value();
  std::unique_ptr<lending::Importer> importer_ =
      lending::Importer::open(*gpu_, random_id<ClientTag>(), 2 * kSlab).value();
  SerialQueue calls_, unmapping_;
};

// A second reclaim revokes a slab that waits to be unmapped: whoever called it returned would have
// it lent to somebody else while it is mapped here.
TEST_F(RevokedSlab, IsToldAsReturnedOnlyOnceItIsUnmapped) {
  await([&] { return client_->connected(); });
  const lending::LeasedSlab lease = this->lease();
  const auto imported = importer_->import({&lease, 1}).value().front();
  const auto host_addresses = gpu_->reserve(kSlab).value();
  const auto host = tensor::Space::create(Tier::host, host_addresses->base(), kSlab).value();
  const auto peer =
      tensor::Space::create(Tier::peer, importer_->base(), importer_->arena_bytes()).value();
  ASSERT_TRUE(host->add_slab(0, kSlab).ok());
  ASSERT_TRUE(peer->add_slab(imported.offset, kSlab).ok());
  tensor::TensorTable table(*gpu_, {.host = host.get(), .peer = peer.get()}, [] {});
  const auto migrator = tensor::Migrator::create(*gpu_).value();
  const Callbacks callbacks;
  ControlLoop loop;
  CallbackQueue telling(true);
  Services services{loop,
                    calls_,
                    unmapping_,
                    telling,
                    client_.get(),
                    [](LogLevel, const std::string&) {},
                    [](BudgetReason) {},
                    [](Clock::time_point) {}};
  BorrowedSlabs slabs;
  Evacuation evacuation(services, {*importer_, *peer, table, *migrator, callbacks}, slabs);

  std::promise<void> gate;
  unmapping_.post([opened = gate.get_future().share()] { opened.wait(); });
  const auto now = Clock::now();
  evacuation.revoke(slabs.add(lease.key, BorrowedSlab{.bytes = kSlab,
                                                      .offset = imported.offset,
                                                      .exchange = lease.exchange}),
                    now);
  evacuation.step(now);
  EXPECT_EQ(slabs.bytes(), 0U) << "it waits to be unmapped";
  evacuation.report_returned(lease.key);  // what an unknown slab that is revoked leads to
  std::promise<void> done;
  calls_.post([&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(coordinator_.asked(kReturn), 0) << "it is mapped";
  gate.set_value();
  EXPECT_TRUE(coordinator_.await(kReturn, 1));
  EXPECT_FALSE(importer_->holds(lease.key));
  // The task that told so uses what ends here.
  unmapping_.stop();
  calls_.stop();
}

}  // namespace
}  // namespace aqua::runtime
