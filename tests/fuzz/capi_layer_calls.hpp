// SPDX-License-Identifier: Apache-2.0
// Any calls on layer pools and block pools. A pool's on_resize makes calls of its
// own, which the pool's call that waits for it must survive.
#pragma once

#include <array>

#include "tests/fuzz/capi_handles.hpp"

namespace aqua::fuzz {

class LayerCalls {
 public:
  LayerCalls(Input& in, Handles& handles, aqua_runtime runtime)
      : in_(in), handles_(handles), runtime_(runtime) {}

  void free_any(std::uint64_t id) {
    handles_.ended(id, ok(aqua_layer_pool_free({id})));
    handles_.ended(id, ok(aqua_block_pool_free({id})));
  }
  // How many of these kinds the handle is of.
  [[nodiscard]] static int kinds(std::uint64_t id) {
    aqua_layer_pool_status status = AQUA_LAYER_POOL_STATUS_INIT;
    aqua_block_pool_info info = AQUA_BLOCK_POOL_INFO_INIT;
    return ok(aqua_layer_pool_get_status({id}, &status)) +
           ok(aqua_block_pool_get_info({id}, &info));
  }
  void one(aqua_stream stream) {
    stream_ = stream;
    switch (in_.byte() % 7) {
      case 0:
        return make_pool();
      case 1:
        return make_list();
      case 2:
        return step();
      case 3:
        return move();
      case 4:
        return resize();
      case 5:
        return list();
      default:
        return ask();
    }
  }

 private:
  using Blocks = std::vector<std::uint32_t>;

  static void on_resize(void* user, const aqua_layer_pool_change* change) {
    auto& self = *static_cast<LayerCalls*>(user);
    if (change->preempt_count > 0 && change->preempt == nullptr) std::abort();
    for (std::size_t i = 0; i < change->preempt_count && (self.in_.byte() & 1) == 0; ++i)
      (void)ok(aqua_block_pool_release({self.some(self.list_.id)}, change->preempt[i]));
    switch (self.in_.byte() % 8) {
      case 0:
        return self.move();
      case 1:
        return self.list();
      case 2:
        return self.ask();
      case 3:
        return self.resize();
      case 4:
        return self.free_any(self.handles_.pick());
      default:
        return;
    }
  }
  // Mostly the one that was made last, or else calls would seldom meet.
  std::uint64_t some(std::uint64_t last) { return in_.byte() < 220 ? last : handles_.pick(); }
  Blocks some_blocks() {
    Blocks blocks(in_.byte() % 4U);
    for (std::uint32_t& block : blocks) block = in_.byte() % 9U;
    if (in_.byte() > 240 && !blocks.empty())
      blocks.front() = static_cast<std::uint32_t>(in_.number());
    return blocks;
  }
  void make_pool() {
    static constexpr const char* kGoals[] = {nullptr, nullptr, "", "capacity", "memory", "speed"};
    aqua_layer_pool_options options = AQUA_LAYER_POOL_OPTIONS_INIT;
    const std::uint8_t shape = in_.byte();
    options.layers = 3 + shape % 3U;
    options.planes_per_layer = 1 + shape / 128U;
    options.block_bytes = std::size_t{1} << (19 + shape / 4U % 3U);
    options.device_bytes = std::size_t{12 + in_.byte() % 16U} << 20;
    options.goal = kGoals[in_.byte() % std::size(kGoals)];
    if (options.goal == nullptr) options.frames = 3 + in_.byte() % 4U;
    options.user = this;
    const std::uint8_t how = in_.byte();
    options.on_resize = how % 4 == 0 ? nullptr : on_resize;
    if (options.goal == nullptr && how >= 128) options.schedule = "fifo";
    if (in_.byte() > 240) {
      options.layers = static_cast<std::uint32_t>(in_.number());
      options.planes_per_layer = static_cast<std::uint32_t>(in_.number());
      options.block_bytes = in_.number() << 12;
      options.device_bytes = in_.number() << 20;
      options.slab_bytes = in_.number();
      options.schedule = (in_.byte() & 1) != 0 ? "lifo" : nullptr;
    }
    if (in_.byte() > 240) options.struct_size = in_.number() % sizeof options;
    free_any(some(pool_.id));  // or the device is soon full
    aqua_layer_pool pool{};
    const bool well = ok(aqua_layer_pool_create(runtime_, &options, &pool));
    handles_.made(pool.id, well);
    std::uint32_t usable = 0;
    if (!well || !ok(aqua_layer_pool_usable_blocks(pool, &usable)) || usable > 4096) return;
    pool_ = pool;
    layers_ = options.layers;
    must(aqua_block_pool_create(layers_, usable, &list_));
    handles_.made(list_.id, true);
    // Full, mostly, so that fewer blocks preempt one sequence or move the other's.
    Blocks blocks(usable);
    const std::uint32_t first = usable / (1 + in_.byte() % 4U);
    must(aqua_block_pool_allocate(list_, 1, first, blocks.data()));
    must(aqua_block_pool_allocate(list_, 2, usable - first, blocks.data()));
    if (in_.byte() < 100) (void)ok(aqua_block_pool_release(list_, 1));
    aqua_tensor_options wanted = AQUA_TENSOR_OPTIONS_INIT;
    if (!ok(aqua_layer_pool_packed_bytes(pool_, 1 + in_.byte() % 3U, &wanted.bytes))) return;
    const bool allocated = ok(aqua_tensor_allocate(runtime_, &wanted, &tensor_));
    handles_.made(tensor_.id, allocated);
  }
  void make_list() {
    aqua_block_pool list{};
    const std::uint32_t layers = in_.byte() % 8U;
    const bool well = ok(aqua_block_pool_create(layers, in_.byte() % 64U, &list));
    handles_.made(list.id, well);
  }
  void step() {
    const aqua_layer_pool pool{some(pool_.id)};
    const Blocks reads = some_blocks();
    const Blocks writes = some_blocks();
    std::uint64_t number = 0;
    int done = 0;
    bool well = ok(aqua_layer_pool_begin_step(pool, stream_, reads.data(), reads.size(),
                                              writes.data(), writes.size()));
    handles_.used(pool.id, well);
    const std::uint32_t layers = in_.byte() < 230 ? layers_ : in_.byte() % 7U;
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      handles_.used(pool.id, ok(aqua_layer_pool_begin_layer(pool, layer)));
      if (in_.byte() < 250) handles_.used(pool.id, ok(aqua_layer_pool_end_layer(pool, layer)));
    }
    aqua_step_load load = AQUA_STEP_LOAD_INIT;
    load.blocks_used = in_.byte();
    load.blocks_wanted = load.blocks_used + in_.byte();
    well = ok(aqua_layer_pool_end_step(pool, (in_.byte() & 1) != 0 ? &load : nullptr, &number));
    handles_.used(pool.id, well);
    handles_.used(pool.id,
                  ok(aqua_layer_pool_step_done(pool, well ? number : in_.number(), &done)));
  }
  void move() {
    const aqua_layer_pool pool{some(pool_.id)};
    const aqua_tensor tensor{some(tensor_.id)};
    const Blocks blocks = some_blocks();
    const std::size_t offset = in_.byte() < 200 ? 0 : in_.number();
    aqua_ticket ticket{};
    const bool well =
        ok((in_.byte() & 1) != 0 ? aqua_layer_pool_offload(pool, blocks.data(), blocks.size(),
                                                           tensor, stream_, offset, &ticket)
                                 : aqua_layer_pool_fetch(pool, tensor, blocks.data(), blocks.size(),
                                                         stream_, offset, &ticket));
    handles_.used(pool.id, well);
    handles_.used(tensor.id, well);
    handles_.made(ticket.id, well);
    const std::uint64_t asked = handles_.pick();
    handles_.used(asked, ok(aqua_ticket_wait({asked})));
  }
  void resize() {
    const aqua_layer_pool pool{some(pool_.id)};
    const aqua_block_pool list{some(list_.id)};
    const std::uint32_t frames = in_.byte() < 220 ? 3 + in_.byte() % 3U : in_.byte() % 8U;
    std::uint32_t proposed = 0;
    int done = 0;
    switch (in_.byte() % 8) {
      case 0:
        return handles_.used(pool.id, ok(aqua_layer_pool_resize(pool, frames)));
      case 1:
        return handles_.used(pool.id, ok(aqua_layer_pool_propose(pool, &proposed)));
      case 2:
        return handles_.used(pool.id, ok(aqua_layer_pool_discard(pool)));
      default:
        break;
    }
    // on_resize may free both, and the call that has begun ends well.
    const bool were_dead = handles_.dead(pool.id) || handles_.dead(list.id);
    const bool well =
        ok((in_.byte() & 1) != 0 ? aqua_layer_pool_adapt(pool, list, stream_, &done)
                                 : aqua_layer_pool_resize_with(pool, frames, list, stream_, &done));
    if (well && were_dead) std::abort();
  }
  void list() {
    const aqua_block_pool list{some(list_.id)};
    const std::uint64_t sequence = in_.byte() % 4U;
    const std::uint32_t number = in_.byte() % (in_.byte() < 200 ? 6U : 40U);
    std::array<std::uint32_t, 40> blocks{};
    std::array<std::uint64_t, 40> named{};
    std::array<aqua_block_move, 40> moves{};
    const std::size_t room = in_.byte() % 41U;
    std::size_t count = 0;
    switch (in_.byte() % 9) {
      case 0:
        return handles_.used(list.id,
                             ok(aqua_block_pool_resize(list, number, named.data(), room, &count)));
      case 1:
        return handles_.used(list.id,
                             ok(aqua_block_pool_take_moves(list, moves.data(), room, &count)));
      case 2:
        return handles_.used(list.id, ok(aqua_block_pool_moved(list, number)));
      case 3:
        return handles_.used(list.id, ok(aqua_block_pool_layer_ready(list, number % 8)));
      case 4:
        return handles_.used(list.id, ok(aqua_block_pool_release(list, sequence)));
      case 5:
        return handles_.used(
            list.id, ok(aqua_block_pool_get_blocks(list, sequence, blocks.data(), room, &count)));
      case 6:
        return handles_.used(list.id,
                             ok(aqua_block_pool_get_sequences(list, named.data(), room, &count)));
      default:
        handles_.used(list.id, ok(aqua_block_pool_allocate(list, sequence, number, blocks.data())));
    }
  }
  void ask() {
    const aqua_layer_pool pool{some(pool_.id)};
    void* address = nullptr;
    std::uint32_t blocks = 0;
    std::size_t bytes = 0;
    const bool well =
        ok(aqua_layer_pool_get_plane(pool, in_.byte() % 8U, in_.byte() % 4U, &address));
    if (well && address == nullptr) std::abort();
    handles_.used(pool.id, well);
    handles_.used(pool.id, ok(aqua_layer_pool_usable_blocks_with(pool, in_.byte(), &blocks)));
    handles_.used(pool.id, ok(aqua_layer_pool_packed_bytes(pool, in_.number(), &bytes)));
    const std::uint64_t id = handles_.pick();
    if (kinds(id) > 1) std::abort();
  }

  Input& in_;
  Handles& handles_;
  aqua_runtime runtime_;
  aqua_stream stream_ = 0;
  // Made last.
  aqua_layer_pool pool_{};
  aqua_block_pool list_{};
  aqua_tensor tensor_{};
  std::uint32_t layers_ = 0;
};

}  // namespace aqua::fuzz
