// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_pinning.hpp"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "device/memfd/device.hpp"
#include "tests/transfer/faulty_device.hpp"

namespace aqua::runtime {
namespace {

// Keeps what is registered; refuses the piece at `refused_`.
class PinningDevice final : public test::FaultyDevice {
 public:
  using FaultyDevice::FaultyDevice;
  Result<void> register_host(std::byte* memory, std::size_t bytes) override {
    const MutexLock lock(mu_);
    if (memory == refused) return Error{Code::resource_exhausted, "no more"};
    registered_[memory] = bytes;
    changed_.notify_all();
    return {};
  }
  Result<void> unregister_host(std::byte* memory, std::size_t bytes) override {
    const MutexLock lock(mu_);
    EXPECT_EQ(registered_[memory], bytes);
    registered_.erase(memory);
    return {};
  }
  // Once there are at least `pieces`.
  std::map<std::byte*, std::size_t> registered(std::size_t pieces = 0) {
    const MutexLock lock(mu_);
    while (registered_.size() < pieces) changed_.wait(mu_);
    return registered_;
  }
  const std::byte* refused = nullptr;

 private:
  Mutex mu_;
  CondVar changed_;
  std::map<std::byte*, std::size_t> registered_ AQUA_GUARDED_BY(mu_);
};

class Pinning : public ::testing::Test {
 protected:
  std::unique_ptr<device::Device> inner_ = device::open_host({.total_bytes = 2 << 20}).value();
  PinningDevice device_{*inner_};
  std::vector<std::byte> memory_ = std::vector<std::byte>(1'000);
  const std::span<std::byte> all_{memory_};
  const std::vector<std::span<std::byte>> pieces_{all_.subspan(0, 300), all_.subspan(300, 300),
                                                  all_.subspan(600, 300), all_.subspan(900)};
};

TEST_F(Pinning, EveryPieceIsRegisteredInTheBackgroundAndTakenBackAtTheEnd) {
  {
    const HostPinning pinning(device_, pieces_,
                              [](const std::string& why) { ADD_FAILURE() << why; });
    const auto pieces = device_.registered(4);
    EXPECT_EQ(pieces.size(), 4U);
    EXPECT_EQ(pieces.at(memory_.data() + 900), 100U);
  }
  EXPECT_TRUE(device_.registered().empty());
}

TEST_F(Pinning, WhatIsRefusedIsSaidOnceAndTheRestIsLeftAsItIs) {
  device_.refused = memory_.data() + 300;
  std::promise<std::string> said;  // set twice, it would throw
  {
    const HostPinning pinning(device_, pieces_,
                              [&](const std::string& why) { said.set_value(why); });
    EXPECT_NE(said.get_future().get().find("no more"), std::string::npos);
    EXPECT_EQ(pinning.pinned_bytes(), 300U);
  }
  EXPECT_TRUE(device_.registered().empty());
}

}  // namespace
}  // namespace aqua::runtime
