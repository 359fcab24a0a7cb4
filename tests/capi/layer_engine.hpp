// SPDX-License-Identifier: Apache-2.0
// An engine over the C ABI of layer pools, on an emulated GPU. Its kernels fill each block that
// they write with a word of layer, plane and stamp, and compare every block that they read with the
// last stamp it has. Nothing here waits for the device but settle().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/capi/capi_fixture.hpp"

namespace aqua::test {

constexpr std::size_t kMib = std::size_t{1} << 20;
using Blocks = std::vector<std::uint32_t>;

// Six layers of two planes in 24 slabs: 8 blocks with six frames or five, 12 with four, 16 with
// three.
inline aqua_layer_pool_options small_layer_pool(std::uint32_t frames = 0) {
  aqua_layer_pool_options options = AQUA_LAYER_POOL_OPTIONS_INIT;
  options.layers = 6;
  options.planes_per_layer = 2;
  options.block_bytes = kMib / 2;
  options.device_bytes = 48 * kMib;
  options.frames = frames;
  return options;
}

class LayerEngine {
 public:
  LayerEngine(aqua_runtime runtime, const aqua_layer_pool_options& options)
      : runtime_(runtime), options_(options) {
    EXPECT_EQ(code_of(aqua_emulated_stream_create(runtime, &stream_)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_layer_pool_create(runtime, &options, &pool_)), AQUA_OK);
  }
  ~LayerEngine() {
    settle();
    const aqua_code code = code_of(aqua_layer_pool_free(pool_));
    EXPECT_TRUE(code == AQUA_OK || code == AQUA_NOT_FOUND) << aqua_code_name(code);
    EXPECT_EQ(code_of(aqua_emulated_stream_destroy(runtime_, stream_)), AQUA_OK);
  }
  LayerEngine(const LayerEngine&) = delete;
  LayerEngine& operator=(const LayerEngine&) = delete;

  [[nodiscard]] aqua_layer_pool pool() const { return pool_; }
  [[nodiscard]] aqua_stream stream() const { return stream_; }
  // By block: what was written there last.
  std::map<std::uint32_t, std::uint64_t>& stamps() { return stamps_; }
  [[nodiscard]] Blocks stamped() const {
    Blocks all;
    for (const auto& [block, stamp] : stamps_) all.push_back(block);
    return all;
  }

  // One step that reads `reads` and then writes `writes`, in every layer. The number of the step, 0
  // after a failure.
  std::uint64_t step(const Blocks& reads, const Blocks& writes) {
    std::uint64_t number = 0;
    aqua_step_load load = AQUA_STEP_LOAD_INIT;
    load.blocks_used = load.blocks_wanted = static_cast<std::uint32_t>(reads.size());
    const std::uint64_t stamp = ++last_stamp_;
    EXPECT_EQ(code_of(aqua_layer_pool_begin_step(pool_, stream_, reads.data(), reads.size(),
                                                 writes.data(), writes.size())),
              AQUA_OK);
    for (std::uint32_t layer = 0; layer < options_.layers; ++layer) {
      EXPECT_EQ(code_of(aqua_layer_pool_begin_layer(pool_, layer)), AQUA_OK);
      for (std::uint32_t plane = 0; plane < options_.planes_per_layer; ++plane)
        launch(layer, plane, reads, writes, stamp);
      EXPECT_EQ(code_of(aqua_layer_pool_end_layer(pool_, layer)), AQUA_OK);
    }
    for (const std::uint32_t block : writes) stamps_[block] = stamp;
    EXPECT_EQ(code_of(aqua_layer_pool_end_step(pool_, &load, &number)), AQUA_OK);
    return number;
  }
  // Reads all that was written, and answers how many words were not the last ones so far.
  std::uint64_t wrong() {
    step(stamped(), {});
    settle();
    return *wrong_;
  }
  void settle() { EXPECT_EQ(code_of(aqua_emulated_synchronize(runtime_, stream_)), AQUA_OK); }
  // The step is safe, before long.
  bool done(std::uint64_t step) {
    settle();
    for (int done = 0; done == 0;) {
      if (code_of(aqua_layer_pool_step_done(pool_, step, &done)) != AQUA_OK) return false;
    }
    return true;
  }

 private:
  struct Kernel {
    void* plane = nullptr;
    std::size_t number = 0, block_bytes = 0;
    Blocks reads{}, writes{};
    std::vector<std::uint64_t> before{};
    std::uint64_t stamp = 0;
    std::shared_ptr<std::atomic<std::uint64_t>> wrong{};

    [[nodiscard]] std::uint64_t word(std::uint64_t of) const {
      return (of * 64 + number) * 0x9e3779b97f4a7c15U;
    }
    void run() const {
      auto* const base = static_cast<std::byte*>(aqua_emulated_view(plane));
      std::vector<std::uint64_t> words(block_bytes / 8);
      for (std::size_t i = 0; i < reads.size(); ++i) {
        std::fill(words.begin(), words.end(), word(before[i]));
        *wrong += std::memcmp(base + reads[i] * block_bytes, words.data(), block_bytes) != 0;
      }
      std::fill(words.begin(), words.end(), word(stamp));
      for (const std::uint32_t block : writes)
        std::memcpy(base + block * block_bytes, words.data(), block_bytes);
    }
  };
  void launch(std::uint32_t layer, std::uint32_t plane, const Blocks& reads, const Blocks& writes,
              std::uint64_t stamp) {
    void* address = nullptr;
    EXPECT_EQ(code_of(aqua_layer_pool_get_plane(pool_, layer, plane, &address)), AQUA_OK);
    const std::size_t number = std::size_t{layer} * options_.planes_per_layer + plane;
    auto kernel = std::make_unique<Kernel>();
    *kernel = {address, number, options_.block_bytes, reads, writes, {}, stamp, wrong_};
    for (const std::uint32_t block : reads) kernel->before.push_back(stamps_.at(block));
    const auto run = [](void* user) {
      const std::unique_ptr<Kernel> owned(static_cast<Kernel*>(user));
      owned->run();
    };
    EXPECT_EQ(code_of(aqua_emulated_launch(runtime_, stream_, run, kernel.release())), AQUA_OK);
  }

  aqua_runtime runtime_;
  const aqua_layer_pool_options options_;
  aqua_stream stream_ = 0;
  aqua_layer_pool pool_{};
  std::map<std::uint32_t, std::uint64_t> stamps_;
  std::uint64_t last_stamp_ = 0;
  std::shared_ptr<std::atomic<std::uint64_t>> wrong_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
};

// A runtime with room for what layers leave, and an engine on it.
class LayerPoolFixture : public ::testing::Test {
 protected:
  LayerPoolFixture() {
    char pattern[] = "/tmp/aqua-capi-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    runtime_ = open("emu:9");
  }
  ~LayerPoolFixture() override {
    engine_.reset();
    EXPECT_EQ(code_of(aqua_runtime_close(runtime_)), AQUA_OK);
    std::filesystem::remove_all(directory_);
  }
  aqua_runtime open(const char* device) {
    aqua_emulated_gpu gpu = AQUA_EMULATED_GPU_INIT;
    gpu.total_bytes = 128 * kMib;
    aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.coordinator = "none";
    options.socket_directory = directory_.c_str();
    options.host_bytes = 160 * kMib;
    options.emulated = &gpu;
    aqua_runtime runtime{};
    EXPECT_EQ(code_of(aqua_runtime_open(&options, &runtime)), AQUA_OK);
    return runtime;
  }
  LayerEngine& start(const aqua_layer_pool_options& options) {
    engine_.reset();
    engine_ = std::make_unique<LayerEngine>(runtime_, options);
    return *engine_;
  }
  [[nodiscard]] aqua_layer_pool pool() const { return engine_->pool(); }
  [[nodiscard]] std::uint32_t usable() const {
    std::uint32_t blocks = 0;
    EXPECT_EQ(code_of(aqua_layer_pool_usable_blocks(pool(), &blocks)), AQUA_OK);
    return blocks;
  }
  [[nodiscard]] aqua_layer_pool_status status() const {
    aqua_layer_pool_status told = AQUA_LAYER_POOL_STATUS_INIT;
    EXPECT_EQ(code_of(aqua_layer_pool_get_status(pool(), &told)), AQUA_OK);
    return told;
  }
  [[nodiscard]] aqua_tensor tensor_for(std::size_t blocks) const {
    aqua_tensor_options wanted = AQUA_TENSOR_OPTIONS_INIT;
    EXPECT_EQ(code_of(aqua_layer_pool_packed_bytes(pool(), blocks, &wanted.bytes)), AQUA_OK);
    aqua_tensor made{};
    EXPECT_EQ(code_of(aqua_tensor_allocate(runtime_, &wanted, &made)), AQUA_OK);
    return made;
  }

  std::string directory_;
  aqua_runtime runtime_{};
  std::unique_ptr<LayerEngine> engine_;
};

}  // namespace aqua::test
