// SPDX-License-Identifier: Apache-2.0
// What a request's KV costs to change process: a parcel of a KV pool, from hand_over() in one
// process until accept() has it in another, against offloading the same blocks and fetching them,
// which copies them twice. In the shape of SmolLM2-135M, on the emulated GPU.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/handoff/kv_pool.hpp"
#include "aqua/runtime.hpp"
#include "forked_process.hpp"
#include "harness.hpp"
#include "report/goal.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"

namespace {

using namespace aqua::literals;
using namespace aqua::bench;
using namespace std::chrono_literals;
using aqua::KvPool;
using Json = nlohmann::json;
using Blocks = std::vector<std::uint32_t>;

constexpr std::uint32_t kTokensPerBlock = 16;
constexpr std::uint32_t kBlocks = 512;
constexpr std::uint32_t kSizes[] = {200, 2000};  // tokens

// Opens an emulated GPU without a coordinator.
aqua::Runtime open_gpu() {
  return must(aqua::Runtime::open({.device = "emu:0",
                                   .coordinator = "none",
                                   .host_bytes = 256_MiB,
                                   .curve_directory = "off",
                                   .emulated = {.total_bytes = 1_GiB}}));
}

KvPool join(aqua::Runtime& gpu, const std::string& role, const std::string& keeper) {
  aqua::KvPoolOptions options;
  options.name = "smollm2";
  options.role = role;
  options.shape = {.layers = 30,
                   .planes_per_layer = 2,
                   .plane_block_bytes = 6144,
                   .tokens_per_block = kTokensPerBlock,
                   .blocks = kBlocks,
                   .format = "f16 3x64"};
  options.reserve = role == "decode" ? 0U : 256U;
  options.keeper = keeper;
  return must(KvPool::attach(gpu, options));
}

Blocks blocks_for(KvPool& pool, std::uint32_t tokens) {
  for (;;) {
    auto blocks = pool.allocate((tokens + kTokensPerBlock - 1) / kTokensPerBlock);
    if (blocks.ok()) return *blocks;
    if (!pool.wait(10s)) (void)must(std::move(blocks));
  }
}

// Decode: accepts a parcel each time that it is told to, says when it had it, and finishes it.
void serve_decode(const std::string& keeper, int in, int out) {
  aqua::Runtime gpu = open_gpu();
  const aqua::Stream stream = must(aqua::emulated::create_stream(gpu));
  {
    KvPool pool = join(gpu, "decode", keeper);
    for (char order = 0; ::read(in, &order, 1) == 1;) {
      std::vector<aqua::Parcel> got;
      do {
        got = pool.accept(1);
      } while (got.empty() && pool.wait(10s));
      const double at = now();
      if (got.empty() || ::write(out, &at, sizeof at) != sizeof at) std::_Exit(1);
      must(pool.finish(got.front().number, stream));
    }
  }
  must(aqua::emulated::destroy_stream(gpu, stream));
}

class Bench {
 public:
  Bench(const std::string& keeper, unsigned rounds)
      : rounds_(rounds),
        keeper_(keeper),
        decode_([&](int in, int out) { serve_decode(keeper_.socket(), in, out); }),
        gpu_(open_gpu()),
        stream_(must(aqua::emulated::create_stream(gpu_))) {}

  Json run() {
    KvPool pool = join(gpu_, "prefill", keeper_.socket());
    fill(pool);
    std::map<std::uint32_t, std::vector<double>> handed, copied;
    // The first round is not counted: memory is touched for the first time.
    for (unsigned round = 0; round <= rounds_; ++round) {
      for (const std::uint32_t tokens : kSizes) {
        const double by_parcel = hand_over(pool, tokens);
        const double by_copy = offload_and_fetch(pool, tokens);
        if (round == 0) continue;
        handed[tokens].push_back(by_parcel);
        copied[tokens].push_back(by_copy);
      }
    }
    Json report;
    for (const std::uint32_t tokens : kSizes) {
      report["rows"].push_back({{"tokens", tokens},
                                {"seconds_handed_over", median(handed[tokens])},
                                {"seconds_handed_over_p99", quantile(handed[tokens], 0.99)},
                                {"seconds_offload_and_fetch", median(copied[tokens])}});
    }
    const auto few = kSizes[0], many = kSizes[1];
    report["goals"] = {judge("handing 2,000 tokens over, over offload and fetch", Bound::at_most,
                             0.05, median(ratios(handed[many], copied[many]))),
                       judge("handing 2,000 tokens over, over 200", Bound::at_most, 2,
                             median(handed[many]) / median(handed[few]))};
    return report;
  }

 private:
  // Touches every page of the pool, as an engine that has served for a while has.
  static void fill(KvPool& pool) {
    const aqua::LayoutSpec& spec = pool.layout().spec();
    for (std::byte* const plane : spec.planes) {
      std::memset(plane, 1, spec.block_stride * spec.block_count);
    }
  }

  double hand_over(KvPool& pool, std::uint32_t tokens) {
    const Blocks blocks = blocks_for(pool, tokens);
    if (!decode_.send('g')) std::exit(1);
    const double begin = now();
    must(pool.hand_over({.id = std::to_string(++last_), .blocks = blocks, .tokens = tokens},
                        "decode", stream_));
    double at = 0;
    if (!decode_.receive(at)) std::exit(1);
    return at - begin;
  }

  double offload_and_fetch(KvPool& pool, std::uint32_t tokens) {
    const Blocks blocks = blocks_for(pool, tokens);
    auto tensor = must(gpu_.allocate({.bytes = pool.layout().packed_bytes(blocks.size())}));
    const double begin = now();
    must(must(gpu_.offload(pool.layout(), blocks, tensor, stream_)).wait());
    must(must(gpu_.fetch(tensor, pool.layout(), blocks, stream_)).wait());
    const double seconds = now() - begin;
    must(pool.release(blocks, stream_));
    return seconds;
  }

  const unsigned rounds_;
  Keeper keeper_;
  ForkedProcess decode_;
  aqua::Runtime gpu_;
  aqua::Stream stream_;
  unsigned last_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::string keeper, json;
  unsigned rounds = 100;
  CLI::App app("Handing a request's KV to another process, against copying it out and in.");
  app.add_option("--keeper-binary", keeper, "aqua-keeper")->required();
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 100'000));
  app.add_option("--json", json, "a file for the report");
  CLI11_PARSE(app, argc, argv);
  const Json report = Bench(keeper, rounds).run();
  for (const Json& row : report["rows"]) {
    std::printf("%5u tokens: handed over %8.1f us (p99 %8.1f), offload and fetch %10.1f us\n",
                row["tokens"].get<unsigned>(), row["seconds_handed_over"].get<double>() * 1e6,
                row["seconds_handed_over_p99"].get<double>() * 1e6,
                row["seconds_offload_and_fetch"].get<double>() * 1e6);
  }
  print_goals(report["goals"]);
  write_report(json, report);
  return 0;
}
