// SPDX-License-Identifier: Apache-2.0
// The devices and ways that the transfer suites run over.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "device/cuda/device.hpp"
#include "tests/transfer/test_cache.hpp"
#include "transfer/transfer.hpp"

namespace aqua::transfer {
inline void PrintTo(Way way, std::ostream* out) {
  *out << to_string(way);
}
}  // namespace aqua::transfer

namespace aqua::test {

// With AQUA_STAND_IN the suites are a program over the stand-in for the CUDA driver, with
// AQUA_ON_GPU over the driver itself; with the tensor in memory of the device, in registered and in
// pageable host memory.
enum class On { host, hostile, cuda, cuda_host, cuda_pageable };

#if defined(AQUA_STAND_IN) || defined(AQUA_ON_GPU)
inline constexpr std::initializer_list<On> kDevices{On::cuda, On::cuda_host};
inline constexpr std::initializer_list<On> kPlaces{On::cuda, On::cuda_host, On::cuda_pageable};
inline constexpr On kAnyDevice = On::cuda;
#else
inline constexpr std::initializer_list<On> kDevices{On::host, On::hostile};
inline constexpr std::initializer_list<On> kPlaces = kDevices;
inline constexpr On kAnyDevice = On::hostile;
#endif

// Whether work that is queued can be called back.
inline bool takes_back(On on) {
  return on == On::host || on == On::hostile;
}
inline Where tensor_on(On on) {
  return on == On::cuda_host       ? Where::registered_host
         : on == On::cuda_pageable ? Where::pageable_host
                                   : Where::device;
}

inline std::unique_ptr<device::Device> open(On on) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  if (!takes_back(on)) return must(device::open_cuda({.total_bytes = kBytes}));
  if (on == On::host) return must(device::open_host({.total_bytes = kBytes}));
  return must(device::open_emulated({.total_bytes = kBytes, .hostile = true, .seed = 5}));
}

// Small buffers, so that a transfer of a few MiB goes through many; groups of any size, so
// that every layer is reported.
inline transfer::MoverOptions mover_options(transfer::Way way) {
  transfer::MoverOptions options;
  options.way = way;
  options.min_group = {};
  options.staging = {.buffer_bytes = 4096, .pairs = 2, .poison_on_release = true};
  return options;
}

using OnAndWay = std::tuple<On, transfer::Way>;

inline std::string name_of(transfer::Way way) {
  std::string name(to_string(way));
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}
inline std::string name_of(On on) {
  constexpr std::array kNames{"Host", "HostileEmulated", "Cuda", "CudaHostTensor",
                              "CudaPageableTensor"};
  return kNames[static_cast<std::size_t>(on)];
}
inline std::string name_of(const OnAndWay& param) {
  return name_of(std::get<0>(param)) + name_of(std::get<1>(param));
}
inline void PrintTo(On on, std::ostream* out) {
  *out << name_of(on);
}

inline auto every_device_and_way() {
  return ::testing::Combine(::testing::ValuesIn(kDevices), ::testing::ValuesIn(transfer::kWays));
}

// One device, one engine stream, one mover, a cache and a tensor to move it to.
class MoverTest : public ::testing::TestWithParam<OnAndWay> {
 protected:
  static constexpr std::size_t kOffset = 77;
  static constexpr std::size_t kBlocks = 6;

  ~MoverTest() override {
    mover.reset();
    must(dev->destroy_stream(stream));
  }
  [[nodiscard]] transfer::TransferRequest request(transfer::Direction direction) const {
    transfer::TransferRequest r;
    r.layout = &cache.layout;
    r.blocks = blocks;
    r.tensor = tensor.base();
    r.tensor_bytes = tensor.bytes();
    r.offset = kOffset;
    r.direction = direction;
    return r;
  }
  [[nodiscard]] std::size_t packed() const { return cache.layout.packed_bytes(kBlocks); }
  // The packed form of the listed blocks in `source`, an image of the cache's memory.
  [[nodiscard]] Bytes packed_form(const Bytes& source) const {
    Bytes form(packed());
    for_each_byte(geometry, blocks, [&](std::size_t in_cache, std::size_t at) {
      form[at] = source[TestCache::kMargin + in_cache];
    });
    return form;
  }

  const Geometry geometry{"", 8, 2, 12, 4100, 1, 4100, 0, 12 * 4100};
  std::unique_ptr<device::Device> dev = open(std::get<0>(GetParam()));
  Stream stream = must(dev->create_stream());
  TestCache cache{*dev, geometry, 1};
  std::vector<std::uint32_t> blocks = some_blocks(geometry, kBlocks, 2);
  DeviceMemory tensor{*dev, kOffset + cache.layout.packed_bytes(kBlocks) + 100,
                      tensor_on(std::get<0>(GetParam()))};
  std::unique_ptr<transfer::Mover> mover =
      std::make_unique<transfer::Mover>(*dev, mover_options(std::get<1>(GetParam())));
};

}  // namespace aqua::test
