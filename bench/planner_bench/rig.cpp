// SPDX-License-Identifier: Apache-2.0
#include "planner_bench/rig.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "harness.hpp"
#include "samples.hpp"
#include "transfer/calibration/idle_time.hpp"

namespace aqua::bench {

using transfer::Direction;
using transfer::FarMemory;
using transfer::PieceShape;
using transfer::Way;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kFewest = 5, kMost = 2000;  // transfers of a measurement
// Places are multiples of 16 on both sides, so that words taken from here never are the right ones.
constexpr std::size_t kWrong = 8;

using Seconds = std::chrono::duration<double>;

std::chrono::nanoseconds whole(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(seconds));
}

// The net time of each way's transfers; a way that was not possible has none.
Rig::Times net(const std::vector<std::vector<double>>& of_ways, double idle, std::size_t times) {
  Rig::Times result{.idle = idle, .transfers = times};
  for (const auto& seconds : of_ways) {
    result.seconds.push_back(0);
    if (seconds.empty()) continue;
    const double middle = median(seconds);
    const double left = Seconds(transfer::net_time(whole(middle), whole(idle))).count();
    result.seconds.back() = left;
    result.resolved = result.resolved && middle - idle > middle / 2;
  }
  return result;
}

}  // namespace

Rig::Rig(device::Device& device, std::size_t ring)
    : device_(device),
      ring_(ring),
      cache_(must(FarMemory::local(device, ring), "cache")),
      words_(must(FarMemory::host(device, ring + kWrong), "words")),
      seen_(must(FarMemory::host(device, ring), "results")),
      stream_(must(device::OwnStream::create(device), "stream")),
      mover_(device) {
  std::mt19937_64 random(1);
  auto* words = reinterpret_cast<std::uint64_t*>(words_->link().base);
  for (std::size_t i = 0; i < (ring + kWrong) / sizeof *words; ++i) words[i] = random();
}

transfer::WaySet Rig::ways() const {
  transfer::WaySet all{Way::staged};
  for (const Way way : {Way::each, Way::batched, Way::kernel})
    if (device_.supports(transfer::method_of(way), *stream_)) all.add(way);
  return all;
}

transfer::Choice Rig::choose(const transfer::LinkMemory& far, Direction direction,
                             const PieceShape& shape) const {
  const auto blocks = shape.blocks();
  const Layout layout = must(shape.layout(cache_->link().base), "layout");
  return must(mover_.choose_for({.layout = &layout,
                                 .blocks = blocks,
                                 .tensor = far.base,
                                 .tensor_bytes = far.bytes,
                                 .direction = direction,
                                 .link = far.link,
                                 .stream = *stream_}),
              "choose_for");
}

Rig::Times Rig::measure(const transfer::LinkMemory& far, Direction direction,
                        const PieceShape& shape, const transfer::WaySet& ways,
                        std::size_t bytes_in_all) {
  const auto blocks = shape.blocks();
  transfer::TransferRequest request{.blocks = blocks,
                                    .tensor = far.base,
                                    .tensor_bytes = far.bytes,
                                    .direction = direction,
                                    .link = far.link,
                                    .stream = *stream_};
  const std::size_t places = std::min(ring_, far.bytes) / shape.cache_bytes();
  const bool offload = direction == Direction::offload;
  copy(offload ? cache_->link().base : far.base, words_->link().base,
       places * (offload ? shape.cache_bytes() : shape.bytes()));
  std::vector<std::vector<double>> seconds(transfer::kWays.size());
  std::vector<double> idle;
  const std::size_t times = std::clamp(bytes_in_all / shape.bytes(), kFewest, kMost);
  std::vector<device::CopyCounts> ran(transfer::kWays.size());
  std::size_t turn = 0;
  for (std::size_t i = 0; i <= times; ++i) {
    // Taken in turn like the ways: it changes with what else runs.
    idle.push_back(Seconds(must(transfer::idle_time(device_, *stream_, 1), "idle time")).count());
    for (const Way way : transfer::kWays) {
      if (!ways.has(way)) continue;
      request.way = way;
      const Place place{shape, turn++ % places};
      const bool looked_at = i == 0 || i == times;
      const auto took = looked_at ? verified(request, place) : move(request, place);
      ran[static_cast<std::size_t>(way)] = moved_;
      if (i > 0) seconds[static_cast<std::size_t>(way)].push_back(Seconds(took).count());
    }
  }
  Times result = net(seconds, median(idle), times);
  result.ran = std::move(ran);
  return result;
}

std::chrono::nanoseconds Rig::move(const transfer::TransferRequest& wanted, const Place& place) {
  transfer::TransferRequest request = wanted;
  const Layout layout = must(
      place.shape.layout(cache_->link().base + place.number * place.shape.cache_bytes()), "layout");
  request.layout = &layout;
  request.offset = place.number * place.shape.bytes();
  auto prepared = must(mover_.prepare(request), "prepare");
  const device::CopyCounts before = device_.copy_counts();
  const auto start = Clock::now();
  must(prepared.post(*stream_), "post");
  must(prepared.ticket().wait(), "wait");
  const auto took = Clock::now() - start;
  moved_ = device_.copy_counts().since(before);
  return took;
}

std::chrono::nanoseconds Rig::verified(const transfer::TransferRequest& request,
                                       const Place& place) {
  const bool offload = request.direction == Direction::offload;
  const std::size_t whole = place.shape.cache_bytes(), packed = place.shape.bytes();
  std::byte* const to =
      offload ? request.tensor + place.number * packed : cache_->link().base + place.number * whole;
  const std::size_t bytes = offload ? packed : whole;
  copy(to, words_->link().base + kWrong, bytes);
  must(device_.synchronize(*stream_), "synchronize");
  const auto took = move(request, place);
  copy(seen_->link().base, to, bytes);
  must(device_.synchronize(*stream_), "synchronize");
  compare(request, place);
  return took;
}

void Rig::compare(const transfer::TransferRequest& request, const Place& place) {
  const PieceShape& shape = place.shape;
  const bool offload = request.direction == Direction::offload;
  const std::byte* const seen = seen_->link().base;
  const std::byte* const words =
      words_->link().base + place.number * (offload ? shape.cache_bytes() : shape.bytes());
  for (unsigned layer = 0; layer < shape.layers; ++layer) {
    for (std::size_t i = 0; i < request.blocks.size(); ++i) {
      const std::size_t in_cache =
          (std::size_t{layer} * shape.per_layer + request.blocks[i]) * shape.stride();
      const std::size_t in_tensor =
          (std::size_t{layer} * request.blocks.size() + i) * shape.piece_bytes;
      if (std::memcmp(seen + (offload ? in_tensor : in_cache),
                      words + (offload ? in_cache : in_tensor), shape.piece_bytes) == 0) {
        verified_bytes_ += shape.piece_bytes;
        continue;
      }
      std::fprintf(stderr, "planner_bench: wrong bytes by %s\n", to_string(*request.way).data());
      std::exit(1);
    }
  }
}

void Rig::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  auto one = std::make_shared<const std::vector<device::CopySegment>>(
      std::vector<device::CopySegment>{{.dst = to, .src = from, .bytes = bytes}});
  must(device_.copy(std::move(one), *stream_), "copy");
}

}  // namespace aqua::bench
