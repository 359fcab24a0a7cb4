// SPDX-License-Identifier: Apache-2.0
// Transfers of a part of each block, and to a tensor that is paged itself, on every device.
#include <gtest/gtest.h>

#include "tests/transfer/mover_fixture.hpp"
#include "tests/transfer/random_pages.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;
using transfer::Mover;
using transfer::PagedTensor;
using transfer::Way;

class Pages : public testing::TestWithParam<OnAndWay> {
 protected:
  static constexpr std::size_t kMost = std::size_t{256} << 10;
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
    request.part = pages.part();
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
    request.paged = PagedTensor{&far, pages.blocks(), pages.part()};
    request.direction = round % 2 == 0 ? Direction::offload : Direction::fetch;
    move(request);
    each_run(shape, cache, pages, [&](std::size_t near, std::size_t at) {
      if (request.direction == Direction::offload) {
        std::memcpy(&there[at], &here[near], shape.bytes);
      } else {
        std::memcpy(&here[near], &there[at], shape.bytes);
      }
    });
    ASSERT_TRUE(cache_.read() == here) << "round " << round;
    ASSERT_TRUE(tensor_.read() == there) << "round " << round;
  }
}

TEST_P(Pages, APartOfEachBlockIsPackedAndComesBack) {
  constexpr std::size_t kOffset = 91;
  for (unsigned round = 0; round < 30; ++round) {
    const PagesShape shape(random_);
    const RandomPages pages(shape, random_);
    Bytes here, there;
    fill(round, here, there);
    const Layout layout = pages.layout(cache_.base());
    transfer::TransferRequest request = between(layout, pages);
    request.offset = kOffset;
    move(request);
    pages.each_packed([&](std::size_t at, std::size_t packed) {
      std::memcpy(&there[kOffset + packed], &here[at], shape.bytes);
    });
    ASSERT_TRUE(tensor_.read() == there) << "round " << round;
    here = random_bytes(kMost, 2 * round + 7);
    cache_.write(here);
    request.direction = Direction::fetch;
    move(request);
    pages.each_packed([&](std::size_t at, std::size_t packed) {
      std::memcpy(&here[at], &there[kOffset + packed], shape.bytes);
    });
    ASSERT_TRUE(cache_.read() == here) << "round " << round;
  }
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
              r.part = {transfer::BlockAxes::tokens_first(4, 2, 16), {3, 2}};
              r.paged->part = {transfer::BlockAxes::tokens_first(4, 2, 16), {2, 2}};
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
                         testing::Combine(testing::ValuesIn(kDevices),
                                          testing::Values(Way::each, Way::batched, Way::kernel)),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
