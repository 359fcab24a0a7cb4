// SPDX-License-Identifier: Apache-2.0
// The device contract, part three: slabs that cross to another process.
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/socket/unix_socket.hpp"
#include "device/probe.hpp"
#include "tests/base/spawned_peer.hpp"
#include "tests/device/contract.hpp"
#include "tests/device/peer.hpp"

namespace aqua::device {
namespace {

constexpr std::chrono::seconds kPatience{60};

test::SpawnedPeer spawn(const char* role, const std::string& kind) {
  return test::SpawnedPeer::spawn({AQUA_DEVICE_PEER, role, kind}).value();
}

class DeviceSharing : public Contract {};
AQUA_CONTRACT_SUITE(DeviceSharing);

TEST_P(DeviceSharing, AnImportSeesTheExportersBytesAndTakesNoCapacity) {
  const Place lent = make_place(*device_, grain_);
  const auto bytes = pattern(grain_, 1);
  upload(*device_, lent.base(), bytes);
  auto fd = device_->export_slab(*lent.slab);
  ASSERT_TRUE(fd.ok());
  const std::size_t before = device_->free_bytes();
  auto slab = device_->import_slab(std::move(fd).value(), grain_);
  ASSERT_TRUE(slab.ok());
  const Place borrowed = place_slab(*device_, std::move(slab).value());
  EXPECT_EQ(device_->free_bytes(), before);
  EXPECT_TRUE(download(*device_, borrowed.base(), grain_) == bytes);
  const auto reply = pattern(grain_, 2);
  upload(*device_, borrowed.base(), reply);
  EXPECT_TRUE(download(*device_, lent.base(), grain_) == reply);
}

TEST_P(DeviceSharing, AProbeFindsThatSlabsCanBeSharedAndLeavesNothingBehind) {
  const std::size_t before = device_->free_bytes();
  EXPECT_OK(probe_sharing(*device_));
  EXPECT_EQ(device_->free_bytes(), before);
}

TEST_P(DeviceSharing, AProbeSaysThatThereIsNoRoomForIt) {
  const auto all = device_->create_slab(device_->free_bytes());
  ASSERT_TRUE(all.ok());
  EXPECT_CODE(Code::resource_exhausted, probe_sharing(*device_));
}

TEST_P(DeviceSharing, OnlyTheCreatorExportsASlab) {
  auto slab = device_->create_slab(grain_);
  ASSERT_TRUE(slab.ok());
  const auto imported = device_->import_slab(device_->export_slab(**slab).value(), grain_);
  ASSERT_TRUE(imported.ok());
  EXPECT_CODE(Code::invalid_argument, device_->export_slab(**imported));
  EXPECT_CODE(Code::invalid_argument, open_kind(GetParam(), kTotal)->export_slab(**slab));
}

TEST_P(DeviceSharing, ImportingWithAnotherSizeIsRefused) {
  const auto slab = device_->create_slab(2 * grain_);
  ASSERT_TRUE(slab.ok());
  for (const std::size_t bytes : {std::size_t{0}, grain_, 3 * grain_, 2 * grain_ + 1}) {
    EXPECT_CODE(Code::invalid_argument,
                device_->import_slab(device_->export_slab(**slab).value(), bytes));
  }
}

TEST_P(DeviceSharing, BytesReachAnotherProcessAndComeBack) {
  const Place lent = make_place(*device_, kPeerSlabBytes);
  upload(*device_, lent.base(), pattern(kPeerSlabBytes, kLenderSeed));
  const auto fd = device_->export_slab(*lent.slab);
  ASSERT_TRUE(fd.ok());
  auto borrower = spawn("borrow", GetParam());
  const std::array<std::byte, 1> greeting{};
  const std::array<int, 1> fds{fd->get()};
  ASSERT_TRUE(send_message(borrower.socket(), greeting, fds, kPatience).ok());
  const int status = borrower.wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(download(*device_, lent.base(), kPeerSlabBytes) ==
              pattern(kPeerSlabBytes, kBorrowerSeed));
}

TEST_P(DeviceSharing, BytesSurviveTheDeathOfTheirExporter) {
  auto lender = spawn("lend", GetParam());
  auto message = receive_message(lender.socket(), 1, kPatience);
  ASSERT_TRUE(message.ok());
  ASSERT_EQ(message->fds.size(), 1U);
  auto slab = device_->import_slab(std::move(message->fds[0]), kPeerSlabBytes);
  ASSERT_TRUE(slab.ok());
  Place borrowed = place_slab(*device_, std::move(slab).value());
  borrowed.slab.reset();  // from here on only the mapping holds the memory
  const int status = lender.kill();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_TRUE(download(*device_, borrowed.base(), kPeerSlabBytes) ==
              pattern(kPeerSlabBytes, kLenderSeed));
  const auto ours = pattern(kPeerSlabBytes, kBorrowerSeed);
  upload(*device_, borrowed.base(), ours);
  EXPECT_TRUE(download(*device_, borrowed.base(), kPeerSlabBytes) == ours);
}

}  // namespace
}  // namespace aqua::device
