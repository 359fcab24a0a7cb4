// SPDX-License-Identifier: Apache-2.0
// The borrower's side: nothing is mapped twice, nothing leaks, a failure leaves no trace.
#include "lending/importer.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "lending/exchange_server.hpp"
#include "tests/lending/support.hpp"
#include "tests/transfer/faulty_device.hpp"

namespace aqua::lending {
namespace {

// Grants every slab that is asked for, and always the same memory.
class SameMemory final : public ExchangeHandler {
 public:
  SameMemory(device::Device& gpu, const device::Slab& slab) : gpu_(gpu), slab_(slab) {}
  std::vector<ReplyEntry> on_fetch(const ClientId&, std::span<const FetchEntry> entries,
                                   std::vector<UniqueFd>& fds) override {
    for (std::size_t i = 0; i < entries.size(); ++i) fds.push_back(gpu_.export_slab(slab_).value());
    return std::vector<ReplyEntry>(entries.size(), ReplyEntry{0, slab_.bytes()});
  }
  std::vector<ReplyEntry> on_give_back(const ClientId&,
                                       std::span<const GiveBackEntry> entries) override {
    return std::vector<ReplyEntry>(entries.size());
  }
  void on_dead(const ClientId&) override {}

 private:
  device::Device& gpu_;
  const device::Slab& slab_;
};

class Importing : public ::testing::Test {
 protected:
  Lender lender_{4};
  std::unique_ptr<device::Device> gpu_ = open_gpu(1);

  [[nodiscard]] std::vector<LeasedSlab> leases(std::size_t count) const {
    std::vector<LeasedSlab> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(lender_.lease(i));
    return list;
  }
  // Every slab has been scrubbed after `count` of them were granted and undone.
  void expect_all_undone(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(lender_.freed().next().generation, 2U);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(lender_.now(i).custody, Custody::free);
  }
};

TEST_F(Importing, SlabsLieSideBySideAndInTheOrderAskedFor) {
  const auto importer = open_importer(*gpu_);
  const auto asked = leases(3);
  const auto slabs = importer->import(asked);
  ASSERT_TRUE(succeeds(slabs));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*slabs)[i].key, asked[i].key);
    EXPECT_EQ((*slabs)[i].offset, i * kSlab);
  }
}

TEST_F(Importing, ASlabMappedAlreadyIsAnsweredFromTheCache) {
  const auto importer = open_importer(*gpu_);
  const std::size_t before = slab_mappings();
  ASSERT_TRUE(succeeds(importer->import(leases(2))));
  const auto again = importer->import(leases(3));
  ASSERT_TRUE(succeeds(again));
  EXPECT_EQ((*again)[0].offset, 0U);
  EXPECT_EQ((*again)[1].offset, kSlab);
  EXPECT_EQ(slab_mappings(), before + 3);
}

TEST_F(Importing, ASlabNamedTwiceIsMappedOnce) {
  const auto importer = open_importer(*gpu_);
  const std::size_t before = slab_mappings();
  const auto slabs = importer->import(std::vector{lender_.lease(0), lender_.lease(0)});
  ASSERT_TRUE(succeeds(slabs));
  EXPECT_EQ((*slabs)[0].offset, (*slabs)[1].offset);
  EXPECT_EQ(slab_mappings(), before + 1);
}

TEST_F(Importing, ThreadsThatWantTheSameSlabsMapThemOnce) {
  const auto importer = open_importer(*gpu_);
  const std::size_t before = slab_mappings();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(succeeds(importer->import(leases(4)))); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slab_mappings(), before + 4);
  EXPECT_EQ(importer->all().size(), 4U);
}

TEST_F(Importing, TheNextImportFillsTheHole) {
  const auto importer = open_importer(*gpu_);
  const auto asked = leases(3);
  ASSERT_TRUE(succeeds(importer->import(asked)));
  ASSERT_TRUE(succeeds(importer->give_back(asked[1].key)));
  const auto slab = importer->import(std::vector{lender_.lease(3)});
  ASSERT_TRUE(succeeds(slab));
  EXPECT_EQ(slab->front().offset, kSlab);
}

TEST_F(Importing, DescriptorsAreClosedOnceMapped) {
  const auto importer = open_importer(*gpu_);
  ASSERT_TRUE(succeeds(importer->import(leases(1))));  // connects
  const std::size_t before = open_descriptors();
  ASSERT_TRUE(succeeds(importer->import(leases(4))));
  EXPECT_TRUE(
      eventually([&] { return open_descriptors() == before; }));  // the exporter's copies, too
}

TEST_F(Importing, WithoutRoomForAllNoneIsMappedAndTheExporterHasThemBack) {
  const auto importer = open_importer(*gpu_, 2 * kSlab);
  const std::size_t before = slab_mappings();
  EXPECT_CODE(Code::resource_exhausted, importer->import(leases(4)));
  EXPECT_TRUE(importer->all().empty());
  EXPECT_EQ(slab_mappings(), before);
  expect_all_undone(4);
  EXPECT_TRUE(succeeds(importer->import(leases(2))));
}

TEST_F(Importing, ALeaseThatLiesAboutTheSizeIsUndone) {
  const auto importer = open_importer(*gpu_);
  auto asked = leases(2);
  asked[1].bytes = 2 * kSlab;
  EXPECT_CODE(Code::invalid_argument, importer->import(asked));
  EXPECT_TRUE(importer->all().empty());
  expect_all_undone(2);
}

// A lender that hands out one memory for two slabs would have two tenants there.
TEST_F(Importing, OneMemoryUnderTwoNamesIsRefused) {
  const auto slab = lender_.gpu().create_slab(kSlab);
  ASSERT_TRUE(succeeds(slab));
  SameMemory handler(lender_.gpu(), **slab);
  const SocketPath path;
  const auto server = ExchangeServer::open(path.str(), handler);
  ASSERT_TRUE(succeeds(server));
  const auto importer = open_importer(*gpu_);
  auto asked = leases(2);
  for (LeasedSlab& lease : asked) lease.exchange = path.str();
  const std::size_t before = slab_mappings();
  EXPECT_CODE(Code::invalid_argument, importer->import(asked));
  EXPECT_EQ(slab_mappings(), before);
  EXPECT_TRUE(succeeds(importer->import({&asked[0], 1})));
  ASSERT_TRUE(succeeds(importer->give_back(asked[0].key)));
  EXPECT_TRUE(succeeds(importer->import({&asked[1], 1}))) << "once the other is gone";
}

// Unmaps when it is told to.
class HeldUnmap final : public test::FaultyDevice {
 public:
  using test::FaultyDevice::FaultyDevice;
  Result<void> unmap(AddressRange& range, std::size_t offset, std::size_t bytes) override {
    asked.set_value();
    go_on.get_future().wait();
    return FaultyDevice::unmap(range, offset, bytes);
  }
  std::promise<void> asked, go_on;
};

TEST_F(Importing, ASlabIsHeldWhileItIsBeingUnmapped) {
  HeldUnmap device(*gpu_);
  const auto importer = open_importer(device);
  const LeasedSlab lease = lender_.lease(0);
  EXPECT_FALSE(importer->holds(lease.key));
  ASSERT_TRUE(succeeds(importer->import({&lease, 1})));
  EXPECT_TRUE(importer->holds(lease.key));
  std::thread returning([&] { EXPECT_TRUE(succeeds(importer->give_back(lease.key))); });
  device.asked.get_future().wait();
  EXPECT_FALSE(importer->find(lease.key));
  EXPECT_TRUE(importer->holds(lease.key));
  device.go_on.set_value();
  returning.join();
  EXPECT_FALSE(importer->holds(lease.key));
}

TEST_F(Importing, WhatIsMappedStaysWhenAnotherImportFails) {
  const auto importer = open_importer(*gpu_, 2 * kSlab);
  ASSERT_TRUE(succeeds(importer->import(leases(1))));
  EXPECT_CODE(Code::resource_exhausted, importer->import(leases(4)));
  EXPECT_EQ(importer->all().size(), 1U);
  EXPECT_EQ(lender_.now(0).custody, Custody::held);
}

TEST_F(Importing, MoreThanAMessageHoldsIsRefused) {
  const auto importer = open_importer(*gpu_);
  std::vector<LeasedSlab> many(kMaxExchangeEntries + 1, lender_.lease(0));
  for (std::size_t i = 0; i < many.size(); ++i) many[i].key.index = static_cast<std::uint32_t>(i);
  EXPECT_CODE(Code::invalid_argument, importer->import(many));
  EXPECT_TRUE(succeeds(importer->import({})));
}

TEST_F(Importing, OnlyWhatIsMappedCanBeGivenBack) {
  const auto importer = open_importer(*gpu_);
  const LeasedSlab lease = lender_.lease(0);
  EXPECT_CODE(Code::not_found, importer->give_back(lease.key));
  ASSERT_TRUE(succeeds(importer->import({&lease, 1})));
  EXPECT_EQ(importer->find(lease.key)->bytes, kSlab);
  EXPECT_TRUE(succeeds(importer->give_back(lease.key)));
  EXPECT_FALSE(importer->find(lease.key).has_value());
  EXPECT_CODE(Code::not_found, importer->give_back(lease.key));
}

TEST_F(Importing, WhatIsGivenBackJustBeforeTheImporterGoesArrives) {
  auto importer = open_importer(*gpu_);
  const auto asked = leases(4);
  ASSERT_TRUE(succeeds(importer->import(asked)));
  for (const LeasedSlab& lease : asked) EXPECT_TRUE(succeeds(importer->give_back(lease.key)));
  importer.reset();
  expect_all_undone(4);
}

TEST_F(Importing, AnExporterThatIsNotThereIsUnavailable) {
  const auto importer = open_importer(*gpu_);
  LeasedSlab lease = lender_.lease(0);
  lease.exchange += ".elsewhere";
  EXPECT_CODE(Code::unavailable, importer->import({&lease, 1}));
}

TEST_F(Importing, AnImporterThatGoesUnmapsAllAndTheExporterWaitsForItsProcess) {
  const std::size_t before = slab_mappings();
  { ASSERT_TRUE(succeeds(open_importer(*gpu_)->import(leases(2)))); }
  EXPECT_EQ(slab_mappings(), before);
  EXPECT_EQ(lender_.now(0).custody, Custody::held);
}

}  // namespace
}  // namespace aqua::lending
