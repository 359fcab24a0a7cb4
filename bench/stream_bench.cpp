// SPDX-License-Identifier: Apache-2.0
// What replication costs generation (DéjàVu, 5.1: 2 %): steps of a stage that decodes 16 sequences,
// whose kernel reads all of their KV and writes a token of each, with a Replicator behind the
// kernel over the same steps without one, in alternation. On the emulated GPU, whose kernels and
// copies share the processors, so that copies cost more here than beside a GPU's kernels.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/kv_stream/replicator.hpp"
#include "aqua/runtime.hpp"
#include "harness.hpp"
#include "report/goal.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"

namespace {

using namespace aqua::literals;
using namespace aqua::bench;
using Json = nlohmann::json;

constexpr unsigned kLayers = 16, kPlanes = 2 * kLayers, kHeads = 8;
constexpr std::uint32_t kSequences = 16, kPrompt = 512, kTokensPerBlock = 16;
constexpr std::size_t kHeadBytes = 64;
constexpr std::size_t kTokenBytes = kPlanes * kHeads * kHeadBytes;
constexpr std::uint32_t kStepsARound = 16;

class Bench {
 public:
  Bench(const std::string& keeper, unsigned rounds)
      : rounds_(rounds),
        blocks_each_((kPrompt + rounds * kStepsARound) / kTokensPerBlock + 1),
        keeper_(keeper),
        gpu_(must(aqua::Runtime::open({.device = "emu:0",
                                       .coordinator = "none",
                                       .host_bytes = 2_MiB,
                                       .curve_directory = "off",
                                       .emulated = {.total_bytes = 1_GiB}}))),
        memory_(must(aqua::emulated::allocate(gpu_, kPlanes * plane_bytes()))),
        stream_(must(aqua::emulated::create_stream(gpu_))),
        layout_(must(aqua::Layout::make(spec()))),
        replicator_(must(aqua::kv_stream::Replicator::create(gpu_, layout_, replicated()))) {
    for (std::uint32_t s = 0; s < kSequences; ++s) {
      for (std::uint32_t i = 0; i < blocks_each_; ++i) blocks_[s].push_back(i * kSequences + s);
    }
    std::memset(memory_.data(), 1, memory_.bytes());
  }
  ~Bench() { (void)aqua::emulated::destroy_stream(gpu_, stream_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

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
            {"goals",
             {judge("generation with replication over without", Bound::at_most, 1.02,
                    median(ratios(with, without)))}}};
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
    for (unsigned p = 0; p < kPlanes; ++p)
      spec.planes.push_back(memory_.data() + p * plane_bytes());
    return spec;
  }
  [[nodiscard]] aqua::kv_stream::ReplicatorOptions replicated() const {
    aqua::kv_stream::ReplicatorOptions options{.shape = "bench", .keeper = keeper_.socket()};
    options.owner.group = "bench";
    return options;
  }
  void replicate(std::uint32_t first, std::uint32_t count) {
    const std::vector<std::uint32_t> ids(count, 7);
    std::vector<aqua::kv_stream::WrittenTokens> written;
    for (std::uint32_t s = 0; s < kSequences; ++s)
      written.push_back({.sequence = s, .blocks = blocks_[s], .first = first, .ids = ids});
    (void)must(replicator_.step(written, stream_));
  }
  void await_protection() {
    must(replicator_.flush(stream_));
    while (!replicator_.status().unprotected.empty()) {
      (void)replicator_.wait(std::chrono::seconds(10));
      must(replicator_.flush(stream_));
    }
  }
  // Seconds of a round of steps; with `held_up` they are replicated, and it gets what that takes of
  // the engine's thread.
  double steps(std::uint32_t first, std::vector<double>* held_up) {
    const double begin = now();
    for (std::uint32_t step = 0; step < kStepsARound; ++step) {
      must(aqua::emulated::launch(gpu_, stream_, [this, token = first + step] { compute(token); }));
      const double launched = now();
      if (held_up != nullptr) replicate(first + step, 1);
      if (held_up != nullptr) held_up->push_back(now() - launched);
      must(aqua::emulated::synchronize(gpu_, stream_));
    }
    return now() - begin;
  }
  // Reads all KV, and writes what depends on it.
  void compute(std::uint32_t token) {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(
        aqua::emulated::kernel_view(std::as_const(memory_).data()));
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kPlanes * plane_bytes() / sizeof *words; ++i) sum += words[i];
    for (std::uint32_t s = 0; s < kSequences; ++s) {
      const std::size_t at = blocks_[s][token / kTokensPerBlock] * layout_.plane_block_bytes() +
                             token % kTokensPerBlock * kHeads * kHeadBytes;
      for (unsigned p = 0; p < kPlanes; ++p)
        std::memset(aqua::emulated::kernel_view(memory_.data() + p * plane_bytes() + at),
                    static_cast<int>(sum & 0xff), kHeads * kHeadBytes);
    }
  }

  const unsigned rounds_;
  const std::uint32_t blocks_each_;
  Keeper keeper_;
  aqua::Runtime gpu_;
  aqua::emulated::Memory memory_;
  aqua::Stream stream_;
  aqua::Layout layout_;
  aqua::kv_stream::Replicator replicator_;
  std::vector<std::uint32_t> blocks_[kSequences];
};

}  // namespace

int main(int argc, char** argv) {
  std::string keeper, json;
  unsigned rounds = 20;
  CLI::App app("Steps of a stage with its KV replicated, over the same steps without.");
  app.add_option("--keeper-binary", keeper, "aqua-keeper")->required();
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 1000));
  app.add_option("--json", json, "a file for the report");
  CLI11_PARSE(app, argc, argv);
  const Json report = Bench(keeper, rounds).run();
  std::printf("a step %.2f ms, replicated %.2f ms; engine held up %.1f us (p99 %.1f)\n",
              report["seconds_step"].get<double>() * 1e3,
              report["seconds_step_replicated"].get<double>() * 1e3,
              report["seconds_engine_held_up"].get<double>() * 1e6,
              report["seconds_engine_held_up_p99"].get<double>() * 1e6);
  print_goals(report["goals"]);
  write_report(json, report);
  return 0;
}
