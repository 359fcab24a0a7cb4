// The devices and ways that the transfer suites run over.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "transfer/test_cache.hpp"
#include "transfer/transfer.hpp"

namespace aqua::test {

enum class On { host, hostile };

inline std::unique_ptr<device::Device> open(On on) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  if (on == On::host) return must(device::open_host({.total_bytes = kBytes}));
  return must(device::open_emulated({.total_bytes = kBytes, .hostile = true, .seed = 5}));
}

// Small buffers, so that a transfer of a few MiB goes through many; groups of any size, so
// that every layer is reported.
inline transfer::MoverOptions mover_options(transfer::Way way) {
  transfer::MoverOptions options;
  options.way = way;
  options.min_group_bytes = 1;
  options.staging = {.buffer_bytes = 4096, .pairs = 2, .poison_on_release = true};
  return options;
}

// Holds a stream until open(): what is posted behind it has surely not started.
class Gate {
 public:
  Gate(device::Device& device, Stream stream) {
    must(
        device::launch(device, stream, [opened = opened_.get_future().share()] { opened.wait(); }));
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() {
    if (!std::exchange(open_, true)) opened_.set_value();
  }

 private:
  std::promise<void> opened_;
  bool open_ = false;
};

using OnAndWay = std::tuple<On, transfer::Way>;

inline std::string name_of(transfer::Way way) {
  std::string name(to_string(way));
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}
inline std::string name_of(const OnAndWay& param) {
  return std::string(std::get<0>(param) == On::host ? "Host" : "HostileEmulated") +
         name_of(std::get<1>(param));
}

inline auto every_device_and_way() {
  return testing::Combine(testing::Values(On::host, On::hostile),
                          testing::ValuesIn(transfer::kWays));
}

// One device, one engine stream, one mover, a cache and a tensor to move it to.
class MoverTest : public testing::TestWithParam<OnAndWay> {
 protected:
  static constexpr std::size_t kOffset = 77;
  static constexpr std::size_t kBlocks = 6;

  ~MoverTest() override {
    mover.reset();
    must(dev->destroy_stream(stream));
  }
  [[nodiscard]] transfer::Request request(transfer::Direction direction) const {
    transfer::Request r;
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
  DeviceMemory tensor{*dev, kOffset + cache.layout.packed_bytes(kBlocks) + 100};
  std::unique_ptr<transfer::Mover> mover =
      std::make_unique<transfer::Mover>(*dev, mover_options(std::get<1>(GetParam())));
};

}  // namespace aqua::test
