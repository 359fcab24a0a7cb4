// SPDX-License-Identifier: Apache-2.0
#include "stream_bench/streams.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/kv_stream/streamer.hpp"
#include "emulated/gpu.hpp"
#include "must.hpp"
#include "report/goal.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using namespace aqua::literals;
using namespace std::chrono_literals;
using kv_stream::StreamOut;
using Json = nlohmann::json;

constexpr unsigned kLayers = 16, kPlanes = 2 * kLayers, kHeads = 8;
constexpr std::size_t kHeadBytes = 64;
constexpr std::uint32_t kTokensPerBlock = 16, kBlocks = 32, kTokens = kBlocks * kTokensPerBlock;
constexpr auto kLayer = 1ms;  // that a kernel lasts

std::vector<std::uint32_t> scattered_blocks() {
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t i = 0; i < kBlocks; ++i) blocks.push_back(i * 13 % kBlocks);
  return blocks;
}

KvShards shards() {
  return {.shape = {.layers = kLayers,
                    .planes_per_layer = 2,
                    .kv_heads = kHeads,
                    .head_bytes = kHeadBytes,
                    .tokens_per_block = kTokensPerBlock,
                    .format = "bytes"},
          .parallelism = {}};
}

// An emulated GPU with a cache of one sequence.
class Gpu : public EmulatedGpu {
 public:
  explicit Gpu(const std::string& device)
      : EmulatedGpu(device, kPlanes * kPlaneBytes, 256_MiB), layout_(must(Layout::make(spec()))) {
    std::memset(data(), 1, bytes());
  }

  [[nodiscard]] const Layout& layout() const { return layout_; }
  void compute_layer() {
    must(emulated::launch(runtime(), stream(), [] { std::this_thread::sleep_for(kLayer); }));
  }
  void synchronize() { must(emulated::synchronize(runtime(), stream())); }
  [[nodiscard]] SegmentCarrier attach(const std::string& keeper, const std::string& name,
                                      const std::string& role, std::uint32_t ready) {
    return must(SegmentCarrier::attach(
        runtime(), layout_,
        {.name = name, .role = role, .parcel_bytes = 16_MiB, .ready = ready, .keeper = keeper}));
  }

 private:
  static constexpr std::size_t kPlaneBytes = std::size_t{kTokens} * kHeads * kHeadBytes;

  [[nodiscard]] LayoutSpec spec() const {
    const auto axes = BlockAxes::tokens_first(kTokensPerBlock, kHeads, kHeadBytes);
    LayoutSpec spec{.layers = kLayers,
                    .planes_per_layer = 2,
                    .planes = {},
                    .block_count = kBlocks,
                    .block_stride = axes.bytes(),
                    .axes = axes};
    for (unsigned p = 0; p < kPlanes; ++p) spec.planes.push_back(data() + p * kPlaneBytes);
    return spec;
  }

  Layout layout_;
};

// A thread that takes whatever comes into its own blocks, again and again.
class Decode {
 public:
  explicit Decode(const std::string& keeper)
      : carrier_(gpu_.attach(keeper, "streams", kv_stream::Streamer::role("decode", 0), 0)),
        streamer_(must(kv_stream::Streamer::create(
            carrier_, gpu_.layout(),
            {.group = "decode", .shards = shards(), .others = {{"prefill", shards()}}}))),
        thread_([this](const std::stop_token& stop) { take(stop); }) {}

 private:
  void take(const std::stop_token& stop) {
    must(streamer_.admit("prefill", 2));
    while (!stop.stop_requested()) {
      for (const kv_stream::Arrived& each : streamer_.arrived()) {
        auto in = must(streamer_.stream_in(each.sequence, blocks_, gpu_.stream()));
        must(in.wait());
        (void)must(streamer_.finish(each.sequence, gpu_.stream()));
        must(streamer_.admit("prefill", 1));
      }
      (void)streamer_.wait(50ms);
    }
  }

  Gpu gpu_{"emu:1"};
  const std::vector<std::uint32_t> blocks_ = scattered_blocks();
  SegmentCarrier carrier_;
  kv_stream::Streamer streamer_;
  std::jthread thread_;
};

class Streams {
 public:
  explicit Streams(const std::string& keeper)
      : decode_(keeper),
        carrier_(gpu_.attach(keeper, "streams", kv_stream::Streamer::role("prefill", 0), 2)),
        streamer_(must(kv_stream::Streamer::create(
            carrier_, gpu_.layout(),
            {.group = "prefill", .shards = shards(), .others = {{"decode", shards()}}}))),
        pieces_taker_(gpu_.attach(keeper, "pieces", "decode", 0)),
        pieces_(gpu_.attach(keeper, "pieces", "prefill", 2)) {
    must(pieces_taker_.admit("prefill", 2));
  }

  Json run(unsigned rounds) {
    std::vector<double> bare, layered, to_land_layered, to_land_at_end, by_layer, by_block;
    (void)prefill(Order::layer_by_layer);  // segments are mapped by then
    (void)ready_kv(1);
    for (unsigned round = 0; round < rounds; ++round) {
      if (round % 2 == 0) bare.push_back(prefill(Order::nothing).computed);
      const Took with = prefill(Order::layer_by_layer);
      layered.push_back(with.computed);
      to_land_layered.push_back(with.landed);
      if (round % 2 != 0) bare.push_back(prefill(Order::nothing).computed);
      to_land_at_end.push_back(prefill(Order::at_the_end).landed);
      by_layer.push_back(ready_kv(1));
      by_block.push_back(ready_kv(kBlocks));
    }
    return {{"rounds", rounds},
            {"sequence_bytes", std::size_t{kPlanes} * kTokens * kHeads * kHeadBytes},
            {"seconds_prefill", median(bare)},
            {"seconds_prefill_streamed", median(layered)},
            {"seconds_to_land_layer_by_layer", median(to_land_layered)},
            {"seconds_to_land_at_the_end", median(to_land_at_end)},
            {"seconds_to_keep_by_layer", median(by_layer)},
            {"seconds_to_keep_by_block", median(by_block)},
            {"layer_by_layer_gain", median(ratios(to_land_at_end, to_land_layered))},
            {"one_copy_a_layer_gain", median(ratios(by_block, by_layer))},
            {"goals",
             {judge("prefill with its KV streamed over without", Bound::at_most, 1.02,
                    median(ratios(layered, bare)))}}};
  }

 private:
  enum class Order : std::uint8_t { nothing, layer_by_layer, at_the_end };
  struct Took {
    double computed = 0;  // until the kernels had ended
    double landed = 0;    // until the receiver had all of it
  };

  void await(const std::function<Result<bool>()>& holds) {
    while (!must(holds())) (void)streamer_.wait(1s);
  }

  Took prefill(Order order) {
    std::vector<StreamOut> out;
    if (order != Order::nothing) {
      out.push_back(must(streamer_.stream_out(
          {.sequence = ++last_, .to = "decode", .blocks = blocks_, .tokens = kTokens})));
      await([&] { return out.front().ready(); });
    }
    const double begin = now();
    for (unsigned layer = 0; layer < kLayers; ++layer) {
      gpu_.compute_layer();
      if (order == Order::layer_by_layer) must(out.front().layer(layer, gpu_.stream()));
    }
    for (unsigned layer = 0; order == Order::at_the_end && layer < kLayers; ++layer)
      must(out.front().layer(layer, gpu_.stream()));
    if (order != Order::nothing) must(out.front().finish("", gpu_.stream()));
    gpu_.synchronize();
    const double computed = now() - begin;
    if (order != Order::nothing) await([&] { return out.front().landed(); });
    return {computed, now() - begin};
  }

  // Seconds until KV that is ready has left its blocks for the keeper, in so many copies a layer.
  double ready_kv(std::uint32_t copies) {
    const std::uint64_t number =
        must(pieces_.open({"sequence " + std::to_string(++last_), 1}, "decode"));
    until(number, ParcelState::open);
    const std::uint32_t tokens = kTokens / copies;
    const double begin = now();
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      for (std::uint32_t copy = 0; copy < copies; ++copy)
        (void)must(pieces_.fill(number, {.layers = {layer, 1}, .tokens = {copy * tokens, tokens}},
                                blocks_, gpu_.stream()));
    }
    must(pieces_.close(number, {}, kTokens, "", gpu_.stream()));
    until(number, ParcelState::closed);
    const double seconds = now() - begin;
    std::vector<Parcel> taken;
    while ((taken = pieces_taker_.accept(1)).empty()) (void)pieces_taker_.wait(1s);
    must(pieces_taker_.finish(taken.front().number, gpu_.stream()));
    must(pieces_taker_.admit("prefill", 1));
    while (pieces_.deliveries().empty()) (void)pieces_.wait(1s);
    return seconds;
  }
  void until(std::uint64_t number, ParcelState state) {
    while (must(pieces_.state(number)) != state) (void)pieces_.wait(1s);
  }

  Gpu gpu_{"emu:0"};
  const std::vector<std::uint32_t> blocks_ = scattered_blocks();
  Decode decode_;
  SegmentCarrier carrier_;
  kv_stream::Streamer streamer_;
  SegmentCarrier pieces_taker_, pieces_;  // of copies that no Streamer would make
  std::uint64_t last_ = 0;
};

}  // namespace

Json measure_streams(const std::string& keeper, unsigned rounds) {
  return Streams(keeper).run(rounds);
}

}  // namespace aqua::bench
