// SPDX-License-Identifier: Apache-2.0
#include "net_bench/blocks.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "aqua/handoff/segment_carrier.hpp"
#include "emulated/gpu.hpp"
#include "must.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using namespace aqua::literals;
using namespace std::chrono_literals;

constexpr std::size_t kBytes = 64_MiB;
constexpr std::size_t kBlockBytes = 16_KiB;
constexpr unsigned kParcels = 4;  // a round, of each kind

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "net_bench: %s\n", what);
  std::exit(1);
}

// An emulated GPU whose cache has room for one parcel.
class Gpu : public EmulatedGpu {
 public:
  explicit Gpu(const std::string& device) : EmulatedGpu(device, kBytes, 256_MiB) {}

  [[nodiscard]] Layout in_blocks_of(std::size_t block_bytes) const {
    return must(Layout::make({.layers = 1,
                              .planes_per_layer = 1,
                              .planes = {data()},
                              .block_count = static_cast<std::uint32_t>(kBytes / block_bytes),
                              .block_stride = block_bytes,
                              .axes = BlockAxes::whole(block_bytes)}));
  }
};

// From one GPU to the other, in blocks of one size. Both GPUs outlive it.
class Way {
 public:
  Way(Gpu& from, const std::string& from_keeper, Gpu& to, const std::string& to_keeper,
      const std::string& pool, std::size_t block_bytes)
      : from_(from),
        to_(to),
        blocks_(scattered(kBytes / block_bytes)),
        source_(from.in_blocks_of(block_bytes)),
        target_(to.in_blocks_of(block_bytes)),
        giver_(attach(from, source_,
                      {.name = pool,
                       .role = "prefill",
                       .parcel_bytes = kBytes,
                       .ready = 1,
                       .keeper = from_keeper})),
        taker_(attach(to, target_,
                      {.name = pool,
                       .role = "decode",
                       .parcel_bytes = kBytes,
                       .ready = 0,
                       .keeper = to_keeper})) {
    must(taker_.admit("prefill", 1));
  }

  // Bytes a second of some parcels, one after the other.
  double rate() {
    double seconds = 0;
    for (unsigned i = 0; i < kParcels; ++i) seconds += carry();
    return static_cast<double>(kParcels * kBytes) / seconds;
  }

 private:
  [[nodiscard]] static SegmentCarrier attach(Gpu& gpu, const Layout& layout,
                                             const SegmentCarrierOptions& options) {
    return must(SegmentCarrier::attach(gpu.runtime(), layout, options));
  }
  // So many numbers, all that there are, of which no two neighbours follow each other.
  [[nodiscard]] static std::vector<std::uint32_t> scattered(std::size_t count) {
    constexpr std::size_t kStep = 13;
    std::vector<std::uint32_t> blocks;
    for (std::size_t i = 0; i < count; ++i)
      blocks.push_back(static_cast<std::uint32_t>(i * kStep % count));
    return blocks;
  }

  // Seconds from when the KV is ready until all of it lies in the other cache.
  double carry() {
    std::memset(to_.data(), 0, kBytes);
    const std::uint64_t number =
        must(giver_.open({"request " + std::to_string(++last_), 1}, "decode"));
    while (must(giver_.state(number)) != ParcelState::open) (void)giver_.wait(1s);
    const double begin = now();
    (void)must(giver_.fill(number, {}, blocks_, from_.stream()));
    must(giver_.close(number, {}, static_cast<std::uint32_t>(blocks_.size()), "", from_.stream()));
    std::vector<Parcel> taken;
    while ((taken = taker_.accept(1)).empty()) (void)taker_.wait(1s);
    must(must(taker_.land(taken.front().number, {}, blocks_, {}, to_.stream())).wait());
    const double seconds = now() - begin;
    must(taker_.finish(taken.front().number, to_.stream()));
    must(taker_.admit("prefill", 1));
    std::vector<Delivery> told;
    while ((told = giver_.deliveries()).empty()) (void)giver_.wait(1s);
    require(told.front().outcome == Delivery::Outcome::confirmed, "a parcel was not delivered");
    require(std::memcmp(from_.data(), to_.data(), kBytes) == 0, "other bytes came than were sent");
    return seconds;
  }

  Gpu& from_;
  Gpu& to_;
  const std::vector<std::uint32_t> blocks_;
  const Layout source_, target_;
  SegmentCarrier giver_, taker_;
  unsigned last_ = 0;
};

}  // namespace

nlohmann::json measure_blocks(const std::string& from, const std::string& to, unsigned rounds) {
  Gpu prefill("emu:0"), decode("emu:1");
  for (std::uint64_t word = 0; word < kBytes / sizeof word; ++word)
    std::memcpy(prefill.data() + word * sizeof word, &word, sizeof word);
  Way in_blocks(prefill, from, decode, to, kBlocksPool, kBlockBytes);
  Way as_whole(prefill, from, decode, to, kWholePool, kBytes);
  std::vector<double> blocks, whole;
  for (unsigned round = 0; round <= rounds; ++round) {
    const bool blocks_first = round % 2 == 0;
    if (!blocks_first) whole.push_back(as_whole.rate());
    blocks.push_back(in_blocks.rate());
    if (blocks_first) whole.push_back(as_whole.rate());
    if (round > 0) continue;
    blocks.clear();  // memory is touched for the first time
    whole.clear();
  }
  return {{"bytes", kBytes},
          {"block_bytes", kBlockBytes},
          {"blocks_bytes_per_s", median(blocks)},
          {"whole_bytes_per_s", median(whole)},
          {"of_whole", median(ratios(blocks, whole))}};
}

}  // namespace aqua::bench
