// SPDX-License-Identifier: Apache-2.0
// A tensor table over a device of the worst manners: peer memory in slabs that come and go,
// host memory as home, and a migrator driven by the test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "lending/slab_arena.hpp"
#include "tensor/migrator.hpp"
#include "tensor/table.hpp"
#include "tests/device/contract.hpp"

namespace aqua::tensor {

using namespace aqua::literals;
using device::fails_with;
using device::finish;
using device::succeeds;

using Bytes = std::vector<std::byte>;

inline const std::shared_ptr<TensorEntry>& entry_of(const AquaTensor& tensor) {
  return aqua::detail::Internals::entry(tensor);
}

// Holds a stream until open(): what is posted behind it has surely not started.
class Gate {
 public:
  Gate(device::Device& device, Stream stream) {
    const auto wait = [opened = opened_.get_future().share()] { opened.wait(); };
    if (!device::launch(device, stream, wait).ok()) std::abort();
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

class World : public ::testing::Test {
 protected:
  static constexpr std::size_t kSlab = 2_MiB;
  static constexpr std::size_t kHostBytes = 8_MiB;

  World();
  ~World() override;

  // Another slab of peer memory; its offset in the arena.
  std::size_t add_slab();
  // Takes an empty slab out of the space and unmaps it.
  void remove_slab(std::size_t offset);

  [[nodiscard]] AquaTensor allocate(std::size_t bytes, TensorOptions options = {});

  // Posts a kernel that writes `bytes` under a write pin; returns with the work in flight.
  void post_write(AquaTensor& tensor, Stream stream, const Bytes& bytes, std::size_t offset = 0);
  // The same kernel under a pin that the test holds.
  void post_write(const Pin& pin, Stream stream, const Bytes& bytes);
  // Reads all of a tensor under a read pin, and waits for it.
  [[nodiscard]] Bytes read(AquaTensor& tensor, Stream stream);
  // What a pin shows, read on `stream`; waits for it.
  [[nodiscard]] Bytes read(const Pin& pin, Stream stream);
  // An event at the end of what was posted to `stream` so far.
  [[nodiscard]] std::unique_ptr<device::Event> mark(Stream stream);
  [[nodiscard]] bool reached(const device::Event& event) { return *gpu_->query(event); }

  // Steps the migrator until it has nothing left but moves that wait for pins.
  void pump(bool pressing = false);
  void evacuate(AquaTensor& tensor);
  void promote(AquaTensor& tensor);
  // Where the tensor is at present.
  [[nodiscard]] std::byte* address(AquaTensor& tensor) {
    return tensor.pin(Access::read, a_).value().data();
  }

  std::unique_ptr<device::Device> gpu_;
  std::unique_ptr<device::Device> dram_;
  device::Place home_;
  std::unique_ptr<lending::SlabArena> arena_;
  std::unique_ptr<Space> host_;
  std::unique_ptr<Space> peer_;
  std::atomic<int> nudges_{0};
  std::unique_ptr<TensorTable> table_;
  std::unique_ptr<Migrator> migrator_;
  Stream a_;
  Stream b_;
};

[[nodiscard]] inline Bytes some_bytes(std::size_t bytes, std::uint32_t seed) {
  return device::pattern(bytes, seed);
}

}  // namespace aqua::tensor
