// SPDX-License-Identifier: Apache-2.0
#include "tests/tensor/world.hpp"

#include <cstring>

namespace aqua::tensor {

World::World()
    : gpu_(device::open_emulated({.total_bytes = 64_MiB, .hostile = true, .seed = 3}).value()),
      dram_(device::open_host({.total_bytes = kHostBytes}).value()),
      home_(device::place_slab(*gpu_, dram_->create_slab(kHostBytes).value())),
      arena_(lending::SlabArena::reserve(*gpu_, 32_MiB).value()),
      host_(Space::create(Tier::host, home_.base(), kHostBytes).value()),
      peer_(Space::create(Tier::peer, arena_->base(), arena_->bytes()).value()),
      table_(std::make_unique<TensorTable>(
          *gpu_, TableSpaces{.host = host_.get(), .peer = peer_.get()}, [this] { ++nudges_; })),
      migrator_(Migrator::create(*gpu_).value()),
      a_(gpu_->create_stream().value()),
      b_(gpu_->create_stream().value()) {
  if (!host_->add_slab(0, kHostBytes).ok()) std::abort();
}

World::~World() {
  migrator_.reset();
  table_->deferred().drain();
  EXPECT_EQ(peer_->stats().allocations, 0U) << "every tensor has been freed";
  EXPECT_EQ(host_->stats().allocations, 0U);
}

std::size_t World::add_slab() {
  const auto slab = gpu_->create_slab(kSlab).value();
  const std::size_t offset = arena_->map(*slab).value();
  EXPECT_OK(peer_->add_slab(offset, kSlab));
  return offset;
}

void World::remove_slab(std::size_t offset) {
  EXPECT_OK(peer_->remove_slab(offset, kSlab));
  EXPECT_OK(arena_->unmap(offset));
}

AquaTensor World::allocate(std::size_t bytes, TensorOptions options) {
  options.bytes = bytes;
  return table_->allocate(options).value();
}

void World::post_write(AquaTensor& tensor, Stream stream, const Bytes& bytes, std::size_t offset) {
  const auto pin = tensor.pin(Access::write, stream, {offset, bytes.size()});
  ASSERT_TRUE(succeeds(pin));
  post_write(*pin, stream, bytes);
}

void World::post_write(const Pin& pin, Stream stream, const Bytes& bytes) {
  EXPECT_OK(device::launch(*gpu_, stream, [to = pin.data(), bytes] {
    std::memcpy(device::kernel_view(to), bytes.data(), bytes.size());
  }));
}

Bytes World::read(AquaTensor& tensor, Stream stream) {
  const auto pin = tensor.pin(Access::read, stream);
  EXPECT_TRUE(succeeds(pin));
  return pin.ok() ? read(*pin, stream) : Bytes{};
}

Bytes World::read(const Pin& pin, Stream stream) {
  Bytes bytes(pin.bytes());
  EXPECT_OK(device::launch(*gpu_, stream, [&bytes, from = pin.data()] {
    std::memcpy(bytes.data(), device::kernel_view(from), bytes.size());
  }));
  EXPECT_OK(finish(*gpu_, stream));
  return bytes;
}

std::unique_ptr<device::Event> World::mark(Stream stream) {
  auto event = gpu_->create_event().value();
  EXPECT_OK(gpu_->record(*event, stream));
  return event;
}

void World::pump(bool pressing) {
  migrator_->poll(pressing);
  while (migrator_->copying()) {
    (void)migrator_->wait_next(std::chrono::milliseconds(1));
    migrator_->poll(pressing);
  }
}

void World::evacuate(AquaTensor& tensor) {
  EXPECT_OK(migrator_->start(entry_of(tensor), nullptr));
  pump();
}

void World::promote(AquaTensor& tensor) {
  table_->deferred().drain();  // the place that it left may be the only one
  EXPECT_OK(migrator_->start(entry_of(tensor), table_->place_away(entry_of(tensor)).value()));
  pump();
}

}  // namespace aqua::tensor
