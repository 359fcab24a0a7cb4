// SPDX-License-Identifier: Apache-2.0
#include "stream_bench/replication.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "aqua/kv_stream/replicator.hpp"
#include "courier_files.hpp"
#include "emulated/gpu.hpp"
#include "must.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using namespace aqua::literals;
using Json = nlohmann::json;

constexpr unsigned kLayers = 16, kPlanes = 2 * kLayers, kHeads = 8;
constexpr std::uint32_t kSequences = 16, kPrompt = 512, kTokensPerBlock = 16;
constexpr std::size_t kHeadBytes = 64;
constexpr std::size_t kTokenBytes = kPlanes * kHeads * kHeadBytes;
constexpr std::uint32_t kStepsARound = 16;
constexpr std::chrono::milliseconds kStep{10};

class Replication {
 public:
  Replication(const std::string& keeper, unsigned rounds)
      : rounds_(rounds),
        blocks_each_((kPrompt + rounds * kStepsARound) / kTokensPerBlock + 1),
        keeper_(keeper),
        gpu_("emu:0", kPlanes * plane_bytes(), 1_GiB),
        layout_(must(aqua::Layout::make(spec()))),
        replicator_(
            must(aqua::kv_stream::Replicator::create(gpu_.runtime(), layout_, replicated()))) {
    for (std::uint32_t s = 0; s < kSequences; ++s) {
      for (std::uint32_t i = 0; i < blocks_each_; ++i) blocks_[s].push_back(i * kSequences + s);
    }
    std::memset(gpu_.data(), 1, gpu_.bytes());
  }
  Replication(const Replication&) = delete;
  Replication& operator=(const Replication&) = delete;

  Json run() {
    replicate(0, kPrompt);
    await_protection();
    std::vector<double> with, without, held_up;
    for (unsigned round = 0; round < rounds_; ++round) {
      const std::uint32_t first = kPrompt + round * kStepsARound;
      const auto bare = [&] { without.push_back(steps(first, nullptr)); };
      const auto replicated = [&] { with.push_back(steps(first, &held_up)); };
      if (round % 2 == 0) bare();
      replicated();
      if (round % 2 != 0) bare();
    }
    await_protection();
    const auto status = replicator_.status();
    return {{"rounds", rounds_},
            {"sequences", kSequences},
            {"token_bytes", kTokenBytes},
            {"seconds_step", median(without) / kStepsARound},
            {"seconds_step_replicated", median(with) / kStepsARound},
            {"seconds_engine_held_up", median(held_up)},
            {"seconds_engine_held_up_p99", quantile(held_up, 0.99)},
            {"copied_bytes", status.copied_bytes},
            {"rewritten_bytes", status.rewritten_bytes},
            {"packs_committed", status.packs_committed},
            {"steps_unprotected", status.steps_unprotected},
            {"replicated_over_bare", median(ratios(with, without))}};
  }

 private:
  [[nodiscard]] std::size_t plane_bytes() const {
    return std::size_t{kSequences} * blocks_each_ * kTokensPerBlock * kHeads * kHeadBytes;
  }
  [[nodiscard]] aqua::LayoutSpec spec() const {
    const auto axes = aqua::BlockAxes::tokens_first(kTokensPerBlock, kHeads, kHeadBytes);
    aqua::LayoutSpec spec{.layers = kLayers,
                          .planes_per_layer = 2,
                          .planes = {},
                          .block_count = kSequences * blocks_each_,
                          .block_stride = axes.bytes(),
                          .axes = axes};
    for (unsigned p = 0; p < kPlanes; ++p) spec.planes.push_back(gpu_.data() + p * plane_bytes());
    return spec;
  }
  [[nodiscard]] aqua::kv_stream::ReplicatorOptions replicated() const {
    aqua::kv_stream::ReplicatorOptions options{.shape = "bench", .keeper = keeper_};
    options.owner.group = "bench";
    return options;
  }
  void replicate(std::uint32_t first, std::uint32_t count) {
    const std::vector<std::uint32_t> ids(count, 7);
    std::vector<aqua::kv_stream::WrittenTokens> written;
    for (std::uint32_t s = 0; s < kSequences; ++s)
      written.push_back({.sequence = s, .blocks = blocks_[s], .first = first, .ids = ids});
    (void)must(replicator_.step(written, gpu_.stream()));
  }
  void await_protection() {
    must(replicator_.flush(gpu_.stream()));
    while (!replicator_.status().unprotected.empty()) {
      (void)replicator_.wait(std::chrono::seconds(10));
      must(replicator_.flush(gpu_.stream()));
    }
  }
  // Seconds of a round of steps; with `held_up` they are replicated, and it gets what that takes of
  // the engine's thread.
  double steps(std::uint32_t first, std::vector<double>* held_up) {
    const double begin = now();
    for (std::uint32_t step = 0; step < kStepsARound; ++step) {
      must(aqua::emulated::launch(gpu_.runtime(), gpu_.stream(),
                                  [this, token = first + step] { compute(token); }));
      const double launched = now();
      if (held_up != nullptr) replicate(first + step, 1);
      if (held_up != nullptr) held_up->push_back(now() - launched);
      must(aqua::emulated::synchronize(gpu_.runtime(), gpu_.stream()));
    }
    return now() - begin;
  }
  // As long as a GPU would compute; then a token of each sequence is there.
  void compute(std::uint32_t token) {
    std::this_thread::sleep_for(kStep);
    for (std::uint32_t s = 0; s < kSequences; ++s) {
      const std::size_t at = blocks_[s][token / kTokensPerBlock] * layout_.plane_block_bytes() +
                             token % kTokensPerBlock * kHeads * kHeadBytes;
      for (unsigned p = 0; p < kPlanes; ++p)
        std::memset(aqua::emulated::kernel_view(gpu_.data() + p * plane_bytes() + at), 7,
                    kHeads * kHeadBytes);
    }
  }

  const unsigned rounds_;
  const std::uint32_t blocks_each_;
  const std::string keeper_;
  EmulatedGpu gpu_;
  aqua::Layout layout_;
  aqua::kv_stream::Replicator replicator_;
  std::vector<std::uint32_t> blocks_[kSequences];
};

}  // namespace

nlohmann::json measure_replication(const std::string& keeper, unsigned rounds) {
  return Replication(keeper, rounds).run();
}

nlohmann::json measure_mirrored(const std::string& keeper_binary, const std::string& courier_binary,
                                const std::string& certificates, unsigned rounds) {
  const Keeper here(keeper_binary), there(keeper_binary);
  const CourierFiles files(certificates);
  const std::string address = "127.0.0.1:" + std::to_string(free_port());
  const CourierProcess to(
      courier_binary,
      files.config("b", there.socket(),
                   {{"listen", {{"address", address}, {"peers", {"a.test"}}, {"copies", true}}}}));
  const CourierProcess from(
      courier_binary,
      files.config("a", here.socket(), {{"mirror", {{{"peer", "b.test"}, {"address", address}}}}}));
  Json measured = measure_replication(here.socket(), rounds);
  const auto bytes_at = [](const Keeper& keeper) {
    std::uint64_t bytes = 0;
    for (const auto& row : must(aqua::list_segments(keeper.socket()))) bytes += row.name.bytes;
    return bytes;
  };
  const double begin = now();
  const std::uint64_t kept = bytes_at(here);
  while (bytes_at(there) != kept) std::this_thread::yield();
  measured["bytes_kept"] = kept;
  measured["seconds_until_all_is_there"] = now() - begin;
  return measured;
}

}  // namespace aqua::bench
