// SPDX-License-Identifier: Apache-2.0
// Any sequence of calls of the C ABI, with handles good, freed, invented and of wrong kinds: no
// crash; a dead handle never works again; what is freed at the end lets the runtime close.
//
// Only what the contract takes on trust is kept honest: addresses that copies follow.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <vector>

#include "aqua/aqua.h"
#include "aqua/aqua_emulated.h"
#include "tests/fuzz/capi_handles.hpp"
#include "tests/fuzz/capi_layer_calls.hpp"
#include "tests/fuzz/capi_packer_calls.hpp"

namespace {

using aqua::fuzz::Handles;
using aqua::fuzz::Input;
using aqua::fuzz::LayerCalls;
using aqua::fuzz::must;
using aqua::fuzz::ok;
using aqua::fuzz::PackerCalls;

class Session : private Handles {
 public:
  explicit Session(Input& in) : Handles(in), in_(in) {
    aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
    aqua_emulated_gpu gpu = AQUA_EMULATED_GPU_INIT;
    gpu.total_bytes = std::size_t{64} << 20;
    options.device = "emu:12";
    options.coordinator = "none";
    options.host_bytes = std::size_t{48} << 20;
    options.slab_bytes = std::size_t{2} << 20;
    options.emulated = &gpu;
    must(aqua_runtime_open(&options, &runtime_));
    must(aqua_emulated_allocate(runtime_, kMemory, &memory_, &base_));
    must(aqua_emulated_stream_create(runtime_, &stream_));
    made(runtime_.id, true);
    layers_.emplace(in, static_cast<Handles&>(*this), runtime_);
    packers_.emplace(in, static_cast<Handles&>(*this));
  }
  ~Session() {
    for (const std::uint64_t id : all()) {
      free_any(id);
      if (id != runtime_.id && ok(aqua_tensor_free({id}))) std::abort();  // gone, whatever it was
    }
    if (!destroyed_) must(aqua_emulated_stream_destroy(runtime_, stream_));
    must(aqua_emulated_synchronize(runtime_, 0));
    must(aqua_emulated_free(memory_));
    must(aqua_runtime_close(runtime_));
    if (ok(aqua_runtime_tick(runtime_))) std::abort();
  }
  void run() {
    for (int calls = 0; !in_.empty() && calls < 200; ++calls) one();
  }

 private:
  static constexpr std::size_t kMemory = std::size_t{2} << 20;

  aqua_stream stream() {
    const std::uint8_t n = in_.byte();
    return n < 100 ? 0 : n < 240 ? stream_ : n;
  }
  void free_any(std::uint64_t id) {
    ended(id, ok(aqua_pin_release({id})));
    ended(id, ok(aqua_ticket_free({id})));
    ended(id, ok(aqua_reclaim_free({id})));
    ended(id, ok(aqua_layout_free({id})));
    ended(id, ok(aqua_pool_free({id})));
    layers_->free_any(id);
    packers_->free_any(id);
    ended(id, ok(aqua_tensor_free({id})));
  }

  void one() {
    const std::uint8_t which = in_.byte();
    if (which >= 240) return packers_->one();
    if (which >= 208) return layers_->one(stream());
    switch (which % 16) {
      case 0:
        return allocate();
      case 1:
        return pin();
      case 2:
        return make_layout(true);
      case 3:
        return make_layout(false);
      case 4:
      case 5:
        return move();
      case 6:
        return ask_ticket();
      case 7:
        return free_any(pick());
      case 8:
        return look(pick());
      case 9:
        return pool();
      case 10:
        return lend();
      case 11:
        return load();
      case 12: {
        const aqua_pin pin{pick()};
        return ended(pin.id, ok(aqua_pin_release_on(pin, stream())));
      }
      case 13:
        (void)ok(aqua_runtime_tick({pick()}));
        return;
      case 14:  // something is always alive: emulated memory
        if (ok(aqua_runtime_close({pick()}))) std::abort();
        return;
      default:
        if (in_.byte() > 250 && !destroyed_) {
          destroyed_ = true;
          must(aqua_emulated_stream_destroy(runtime_, stream_));
        }
    }
  }

  void allocate() {
    struct {
      aqua_tensor_options known = AQUA_TENSOR_OPTIONS_INIT;
      std::array<std::uint64_t, 8> newer{};
    } given;
    aqua_tensor_options& options = given.known;
    options.bytes = in_.number();
    options.discardable = in_.byte() & 1;
    const std::uint32_t where = in_.byte();
    options.host_only = where & 1;
    options.off_device = where >> 1 & 1;
    if (in_.byte() > 240) options.struct_size = in_.number() % sizeof given;
    if (in_.byte() > 240) given.newer[0] = in_.byte();
    const std::uint64_t runtime = pick();
    aqua_tensor tensor{};
    const bool well = ok(aqua_tensor_allocate({runtime}, &options, &tensor));
    if (well && runtime != runtime_.id) std::abort();
    made(tensor.id, well);
  }
  void pin() {
    const std::uint64_t id = pick();
    aqua_pin pin{};
    void* data = nullptr;
    const std::uint32_t access = in_.byte() % 3;
    const std::size_t offset = in_.number();
    const bool well =
        ok(aqua_tensor_pin({id}, access, stream(), offset,
                           (in_.byte() & 1) != 0 ? AQUA_WHOLE_TENSOR : in_.number(), &pin, &data));
    used(id, well);
    if (well && data == nullptr) std::abort();
    made(pin.id, well);
  }
  // Either over memory that is there, or any numbers, never to be moved.
  void make_layout(bool real) {
    std::array<void*, 8> planes{};
    aqua_layout_spec spec = AQUA_LAYOUT_SPEC_INIT;
    spec.layers = 1 + in_.byte() % 4u;
    spec.planes_per_layer = 1 + in_.byte() % 2u;
    spec.planes = planes.data();
    spec.plane_count = std::size_t{spec.layers} * spec.planes_per_layer;
    spec.run_bytes = 1 + in_.byte();
    spec.tokens_per_block = 1 + in_.byte() % 4u;
    spec.heads = 1 + in_.byte() % 3u;
    spec.head_stride = spec.run_bytes;
    spec.token_stride = spec.heads * spec.head_stride;
    spec.block_stride = spec.tokens_per_block * spec.token_stride + in_.byte();
    spec.block_count = 1 + in_.byte() % 16u;
    for (std::size_t p = 0; p < planes.size(); ++p)
      planes[p] = static_cast<std::byte*>(base_) + p * (kMemory / planes.size());
    if (!real) {
      spec.heads = in_.byte() % 8u;
      spec.head_stride = in_.number();
      spec.token_stride = in_.number();
      spec.runs_per_head = in_.byte() % 8u;
      spec.run_stride = in_.number();
      spec.block_stride = in_.number();
      spec.run_bytes = in_.number();
      spec.block_count = static_cast<std::uint32_t>(in_.number());
      planes[in_.byte() % planes.size()] = reinterpret_cast<void*>(in_.number());
      if (in_.byte() > 200) spec.plane_count = in_.byte() % (planes.size() + 1);
    }
    aqua_layout layout{};
    const bool well = ok(aqua_layout_create(&spec, &layout));
    if (real && !well) std::abort();
    if (well && !real) unsafe_.insert(layout.id);
    made(layout.id, well);
  }
  void move() {
    const std::uint64_t layout = pick();
    const std::uint64_t tensor = pick();
    if (unsafe_.contains(layout)) return;
    std::vector<std::uint32_t> blocks(in_.byte() % 8u);
    for (std::uint32_t& block : blocks) block = in_.byte() % 17u;
    const std::size_t offset = in_.number();
    aqua_ticket ticket{};
    const unsigned how = in_.byte();
    const bool out = (how & 1) != 0;
    aqua_kv_range range = AQUA_KV_RANGE_INIT;
    if ((how & 2) != 0) {
      range.first_token = in_.byte() % 32u;
      range.token_count = in_.byte() % 32u;
      range.first_head = in_.byte() % 3u;
      range.first_layer = in_.byte() % 3u;
    }
    bool well = false;
    if ((how & 4) != 0) {
      aqua_tensor_pages pages = AQUA_TENSOR_PAGES_INIT;
      pages.count = in_.byte() % 32u;
      pages.pages = blocks.data();
      pages.offset = offset;
      well = ok(out ? aqua_offload_pages({layout}, blocks.data(), blocks.size(), &range, {tensor},
                                         &pages, stream(), &ticket)
                    : aqua_fetch_pages({tensor}, &pages, {layout}, blocks.data(), blocks.size(),
                                       &range, stream(), &ticket));
    } else if ((how & 2) != 0) {
      well = ok(out ? aqua_offload_range({layout}, blocks.data(), blocks.size(), &range, {tensor},
                                         stream(), offset, &ticket)
                    : aqua_fetch_range({tensor}, {layout}, blocks.data(), blocks.size(), &range,
                                       stream(), offset, &ticket));
    } else {
      well = ok(out ? aqua_offload({layout}, blocks.data(), blocks.size(), {tensor}, stream(),
                                   offset, &ticket)
                    : aqua_fetch({tensor}, {layout}, blocks.data(), blocks.size(), stream(), offset,
                                 &ticket));
    }
    used(layout, well);
    used(tensor, well);
    made(ticket.id, well);
  }
  void ask_ticket() {
    const aqua_ticket ticket{pick()};
    int done = 0;
    if ((in_.byte() & 1) != 0) used(ticket.id, ok(aqua_ticket_cancel(ticket)));
    used(ticket.id, ok(aqua_ticket_done(ticket, &done)));
    used(ticket.id, ok(aqua_ticket_layer_done(ticket, in_.byte(), &done)));
    used(ticket.id, ok(aqua_ticket_stream_wait(ticket, 0, in_.byte())));
    used(ticket.id, ok(aqua_ticket_wait(ticket)));
  }
  void look(std::uint64_t id) {
    aqua_tensor_info tensor = AQUA_TENSOR_INFO_INIT;
    aqua_pin_info pin = AQUA_PIN_INFO_INIT;
    aqua_layout_info layout = AQUA_LAYOUT_INFO_INIT;
    aqua_pool_info pool = AQUA_POOL_INFO_INIT;
    aqua_reclaim_progress progress = AQUA_RECLAIM_PROGRESS_INIT;
    aqua_runtime_status status = AQUA_RUNTIME_STATUS_INIT;
    std::size_t n = 0;
    const int kinds =
        ok(aqua_tensor_get_info({id}, &tensor)) + ok(aqua_pin_get_info({id}, &pin)) +
        ok(aqua_layout_get_info({id}, &layout)) + ok(aqua_pool_get_info({id}, &pool)) +
        ok(aqua_reclaim_get_progress({id}, &progress)) + ok(aqua_ticket_get_bytes({id}, &n)) +
        ok(aqua_runtime_get_status({id}, &status)) + LayerCalls::kinds(id) + PackerCalls::kinds(id);
    if (kinds > 1) std::abort();  // a handle is of one kind
    used(id, kinds == 1);
    (void)ok(
        aqua_layout_packed_offset({id}, in_.byte(), in_.byte(), in_.number(), in_.number(), &n));
  }
  void pool() {
    aqua_pool_options options = AQUA_POOL_OPTIONS_INIT;
    options.planes = in_.number();
    options.plane_bytes = in_.number() << (in_.byte() & 31);
    options.slab_bytes = in_.number() << (in_.byte() & 31);
    options.filler = in_.byte() & 1;
    aqua_pool pool{};
    const bool well = ok(aqua_pool_create(runtime_, &options, &pool));
    made(pool.id, well);
    const std::uint64_t id = pick();
    void* plane = nullptr;
    used(id, ok(aqua_pool_get_plane({id}, in_.number(), &plane)));
    used(id, ok(aqua_pool_lend({id}, in_.number(), stream())));
  }
  void lend() {
    (void)ok(aqua_runtime_lend(runtime_, in_.number() << (in_.byte() & 31)));
    aqua_reclaim reclaim{};
    const bool well =
        ok(aqua_runtime_reclaim({pick()}, in_.number() << 20, in_.byte() & 15, &reclaim));
    made(reclaim.id, well);
    if (well) (void)ok(aqua_reclaim_wait(reclaim, nullptr));
  }
  void load() {
    aqua_load_profile profile = AQUA_LOAD_PROFILE_INIT;
    profile.kv_bytes_total = in_.number();
    profile.steady_free_bytes = in_.number();
    profile.producer_threshold_bytes = in_.number();
    (void)ok(aqua_runtime_set_profile(runtime_, &profile, nullptr));
    aqua_load_report report = AQUA_LOAD_REPORT_INIT;
    report.queue_length = static_cast<double>(in_.number());
    report.kv_bytes_used = in_.number();
    report.kv_bytes_wanted = in_.number();
    report.time_to_first_token_p99_us = in_.number();
    (void)ok(aqua_runtime_report({pick()}, &report));
  }

  Input& in_;
  aqua_runtime runtime_{};
  aqua_emulated_memory memory_{};
  void* base_ = nullptr;
  aqua_stream stream_ = 0;
  bool destroyed_ = false;
  std::optional<LayerCalls> layers_;
  std::optional<PackerCalls> packers_;
  std::set<std::uint64_t> unsafe_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Session(in).run();
  return 0;
}
