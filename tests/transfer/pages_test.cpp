// SPDX-License-Identifier: Apache-2.0
// Transfers of a part of a sequence, and to a tensor that is paged itself, on every device.
#include <gtest/gtest.h>

#include "tests/layout/random_pages.hpp"
#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;
using transfer::Mover;
using transfer::PagedTensor;
using transfer::Way;

class Pages : public ::testing::TestWithParam<OnAndWay> {
 protected:
  static constexpr std::size_t kMost = std::size_t{512} << 10;
  ~Pages() override {
    mover_.reset();
    must(dev_->destroy_stream(stream_));
  }
  void move(const transfer::TransferRequest& request) {
    auto transfer = must(mover_->prepare(request));
    must(transfer.post(stream_));
    must(transfer.ticket().wait());
  }
  // Random bytes into cache and tensor; they are told.
  void fill(unsigned seed, Bytes& cache, Bytes& tensor) {
    cache = random_bytes(kMost, 2 * seed);
    tensor = random_bytes(kMost, 2 * seed + 1);
    cache_.write(cache);
    tensor_.write(tensor);
  }
  [[nodiscard]] transfer::TransferRequest between(const Layout& layout, const RandomPages& pages) {
    transfer::TransferRequest request;
    request.layout = &layout;
    request.blocks = pages.blocks();
    request.range = pages.range();
    request.tensor = tensor_.base();
    request.tensor_bytes = tensor_.bytes();
    return request;
  }
  std::unique_ptr<device::Device> dev_ = open(std::get<0>(GetParam()));
  Stream stream_ = must(dev_->create_stream());
  std::unique_ptr<Mover> mover_ =
      std::make_unique<Mover>(*dev_, mover_options(std::get<1>(GetParam())));
  DeviceMemory cache_{*dev_, kMost};
  DeviceMemory tensor_{*dev_, kMost, tensor_on(std::get<0>(GetParam()))};
  std::mt19937 random_{9};
};

// Never staged.
class PagedTensors : public Pages {};

TEST_P(PagedTensors, TokensAndHeadsMoveBetweenCachesOfOtherLayouts) {
  for (unsigned round = 0; round < 60; ++round) {
    const PagesShape shape(random_);
    const RandomPages cache(shape, random_);
    const RandomPages pages(shape, random_);
    ASSERT_LE(std::max(cache.extent(), pages.extent()), kMost);
    Bytes here, there;
    fill(round, here, there);
    const Layout layout = cache.layout(cache_.base());
    const Layout far = pages.layout(tensor_.base());
    transfer::TransferRequest request = between(layout, cache);
    request.paged = PagedTensor{&far, pages.blocks(), pages.range()};
    request.direction = round % 2 == 0 ? Direction::offload : Direction::fetch;
    move(request);
    each_byte(shape, [&](std::size_t p, std::size_t t, std::size_t h, std::size_t i) {
      std::byte& near = here[cache.at(p, t, h, i)];
      std::byte& far_byte = there[pages.at(p, t, h, i)];
      (request.direction == Direction::offload ? far_byte : near) =
          request.direction == Direction::offload ? near : far_byte;
    });
    ASSERT_TRUE(cache_.read() == here) << "round " << round;
    ASSERT_TRUE(tensor_.read() == there) << "round " << round;
  }
}

TEST_P(Pages, ARangeIsPackedAndComesBack) {
  constexpr std::size_t kOffset = 91;
  unsigned moved = 0;
  for (unsigned round = 0; round < 30; ++round) {
    const PagesShape shape(random_);
    const RandomPages pages(shape, random_);
    Bytes here, there;
    fill(round, here, there);
    const Layout layout = pages.layout(cache_.base());
    transfer::TransferRequest request = between(layout, pages);
    request.offset = kOffset;
    if (const auto refused = mover_->prepare(request); !refused.ok()) {
      EXPECT_EQ(refused.error().code, Code::invalid_argument);
      EXPECT_EQ(std::get<1>(GetParam()), Way::staged) << "of axes that all have gaps";
      continue;
    }
    ++moved;
    move(request);
    std::size_t next = kOffset;
    each_byte(shape, [&](std::size_t p, std::size_t t, std::size_t h, std::size_t i) {
      there[next++] = here[pages.at(p, t, h, i)];
    });
    ASSERT_TRUE(tensor_.read() == there) << "round " << round;
    here = random_bytes(kMost, 2 * round + 7);
    cache_.write(here);
    request.direction = Direction::fetch;
    move(request);
    next = kOffset;
    each_byte(shape, [&](std::size_t p, std::size_t t, std::size_t h, std::size_t i) {
      here[pages.at(p, t, h, i)] = there[next++];
    });
    ASSERT_TRUE(cache_.read() == here) << "round " << round;
  }
  EXPECT_GT(moved, 15U);
}

TEST_P(Pages, WhatDoesNotFitIsRefusedAndNothingIsQueued) {
  const Geometry geometry{"", 2, 1, 8, 128, 1, 128, 0, 1024};
  const Bytes before = random_bytes(kMost, 5);
  tensor_.write(before);
  const Layout layout = geometry.layout(cache_.base());
  const Layout pages = geometry.layout(tensor_.base());
  const Layout longer = Geometry{"", 2, 1, 8, 144, 1, 144, 0, 1152}.layout(tensor_.base());
  const Layout outside = geometry.layout(cache_.base());
  const std::vector<std::uint32_t> blocks{1, 4};
  const std::vector<std::uint32_t> unknown{1, 8};
  const auto code_of = [&](auto spoil) {
    transfer::TransferRequest request;
    request.layout = &layout;
    request.blocks = blocks;
    request.tensor = tensor_.base();
    request.tensor_bytes = tensor_.bytes();
    request.paged = PagedTensor{&pages, blocks};
    request.way = Way::kernel;
    spoil(request);
    const auto prepared = mover_->prepare(request);
    return prepared.ok() ? std::optional<Code>() : prepared.error().code;
  };
  EXPECT_EQ(code_of([](auto&) {}), std::nullopt);
  EXPECT_EQ(code_of([](auto& r) { r.paged->layout = nullptr; }), Code::invalid_argument);
  EXPECT_EQ(code_of([&](auto& r) { r.paged->blocks = unknown; }), Code::invalid_argument);
  EXPECT_EQ(code_of([&](auto& r) { r.blocks = unknown; }), Code::invalid_argument);
  EXPECT_EQ(code_of([&](auto& r) { r.paged->layout = &longer; }), Code::invalid_argument);
  EXPECT_EQ(code_of([&](auto& r) { r.paged->layout = &outside; }), Code::invalid_argument);
  EXPECT_EQ(code_of([](auto& r) { r.tensor_bytes = 2'047; }), Code::invalid_argument);
  EXPECT_EQ(code_of([](auto& r) { r.tensor_bytes = 2'048; }), std::nullopt) << "fits exactly";
  EXPECT_EQ(code_of([](auto& r) { r.way = Way::staged; }), Code::invalid_argument);
  EXPECT_EQ(code_of([](auto& r) {
              r.range = KvRange{.tokens = {1, 1}};
              r.paged->range = {.tokens = {0, 2}};
            }),
            Code::invalid_argument)
      << "one token to two";
  drain(*dev_, stream_);
  EXPECT_TRUE(tensor_.read() == before);
  EXPECT_EQ(mover_->in_flight(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Devices, Pages, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });
INSTANTIATE_TEST_SUITE_P(Devices, PagedTensors,
                         ::testing::Combine(::testing::ValuesIn(kDevices),
                                            ::testing::Values(Way::each, Way::batched,
                                                              Way::kernel)),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
