// SPDX-License-Identifier: Apache-2.0
// What a segment costs against plain copies of the same bytes: 64 MiB in blocks of 16 KiB gathered
// into a ready segment, and scattered out of it by a reader, over one memcpy of 64 MiB in the same
// round; what the engine's thread is held up by; and how long it takes from a commit until a reader
// has the segment open. On the emulated GPU.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/handoff/segments.hpp"
#include "aqua/runtime.hpp"
#include "harness.hpp"
#include "report/goal.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"

namespace {

using namespace aqua::literals;
using namespace aqua::bench;
using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr unsigned kLayers = 32;
constexpr std::uint32_t kBlocks = 128;  // in the cache
constexpr std::uint32_t kMoved = 64;    // every second one
constexpr std::size_t kBlockBytes = 16_KiB;
constexpr std::size_t kBytes = std::size_t{kLayers} * 2 * kMoved * kBlockBytes;

class Bench {
 public:
  Bench(const std::string& keeper, unsigned rounds)
      : rounds_(rounds),
        keeper_(keeper),
        gpu_(must(aqua::Runtime::open({.device = "emu:0",
                                       .coordinator = "none",
                                       .host_bytes = 2_MiB,
                                       .curve_directory = "off",
                                       .emulated = {.total_bytes = 512_MiB}}))),
        memory_(must(aqua::emulated::allocate(gpu_, 2 * kBytes))),
        stream_(must(aqua::emulated::create_stream(gpu_))),
        layout_(must(aqua::Layout::make(spec()))) {
    for (std::uint32_t i = 0; i < kMoved; ++i) blocks_.push_back(2 * i);
    std::memset(memory_.data(), 1, memory_.bytes());
  }
  ~Bench() { must(aqua::emulated::destroy_stream(gpu_, stream_)); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Json run() {
    aqua::Segments writer = open(2), reader = open(2);
    std::vector<std::byte> from(kBytes, std::byte{1}), to(kBytes);
    std::vector<double> copied, gathered, scattered, held_up, told;
    // The first rounds are not counted: a segment is mapped by its reader for the first time.
    for (unsigned round = 0; round < rounds_ + kWarm; ++round) {
      const double begin = now();
      std::memcpy(to.data(), from.data(), kBytes);
      const double after_copy = now();
      const aqua::Segment segment = take(writer);
      const double taken = now();
      auto out = must(writer.gather(segment.number, 0, layout_, blocks_, stream_));
      const double posted = now();
      must(out.wait());
      const double there = now();
      must(writer.commit(segment.number, kBytes, stream_));
      const double committing = now();
      const aqua::SegmentName name = committed(writer);
      open_segment(reader, name);
      const double opened = now();
      must(must(reader.scatter(name.number, 0, layout_, blocks_, stream_)).wait());
      const double arrived = now();
      must(reader.close(name.number, stream_, aqua::SegmentAfter::drop));
      while (writer.status().kept != 0) (void)writer.wait(10s);
      if (round < kWarm) continue;
      copied.push_back(after_copy - begin);
      gathered.push_back(there - taken);
      scattered.push_back(arrived - opened);
      held_up.push_back(posted - taken + committing - there);
      told.push_back(opened - there);
    }
    return {{"bytes", kBytes},
            {"block_bytes", kBlockBytes},
            {"rounds", rounds_},
            {"seconds_memcpy", median(copied)},
            {"seconds_gathered", median(gathered)},
            {"seconds_scattered", median(scattered)},
            {"seconds_engine_held_up", median(held_up)},
            {"seconds_engine_held_up_p99", quantile(held_up, 0.99)},
            {"seconds_commit_until_opened", median(told)},
            {"seconds_commit_until_opened_p99", quantile(told, 0.99)},
            {"goals",
             {judge("gathering 64 MiB in 16 KiB blocks, over memcpy", Bound::at_most, 1.3,
                    median(ratios(gathered, copied))),
              judge("scattering it, over memcpy", Bound::at_most, 1.3,
                    median(ratios(scattered, copied))),
              judge("from the commit until a reader has it, over memcpy", Bound::at_most, 0.1,
                    median(ratios(told, copied)))}}};
  }

 private:
  static constexpr unsigned kWarm = 4;

  [[nodiscard]] aqua::LayoutSpec spec() const {
    aqua::LayoutSpec spec{.layers = kLayers,
                          .planes_per_layer = 2,
                          .planes = {},
                          .block_count = kBlocks,
                          .block_stride = kBlockBytes,
                          .axes = aqua::BlockAxes::whole(kBlockBytes)};
    for (std::size_t p = 0; p < std::size_t{kLayers} * 2; ++p) {
      spec.planes.push_back(memory_.data() + p * kBlocks * kBlockBytes);
    }
    return spec;
  }
  aqua::Segments open(std::uint32_t ready) {
    return must(aqua::Segments::open(
        gpu_, {.segment_bytes = kBytes, .ready = ready, .keeper = keeper_.socket()}));
  }
  static aqua::Segment take(aqua::Segments& segments) {
    for (;;) {
      auto taken = segments.take(kBytes);
      if (taken.ok()) return *taken;
      if (!segments.wait(10s)) (void)must(std::move(taken));
    }
  }
  static aqua::SegmentName committed(aqua::Segments& segments) {
    for (;;) {
      const auto done = segments.committed();
      if (!done.empty() && !done.front().error) return done.front().name;
      if (!done.empty() || !segments.wait(10s)) std::exit(1);
    }
  }
  static void open_segment(aqua::Segments& segments, const aqua::SegmentName& name) {
    must(segments.read(name));
    for (;;) {
      const auto there = segments.opened();
      if (!there.empty() && !there.front().error) return;
      if (!there.empty() || !segments.wait(10s)) std::exit(1);
    }
  }

  const unsigned rounds_;
  Keeper keeper_;
  aqua::Runtime gpu_;
  aqua::emulated::Memory memory_;
  aqua::Stream stream_;
  aqua::Layout layout_;
  std::vector<std::uint32_t> blocks_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string keeper, json;
  unsigned rounds = 30;
  CLI::App app("Gathering KV into a segment and scattering it out, against one memcpy.");
  app.add_option("--keeper-binary", keeper, "aqua-keeper")->required();
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 10'000));
  app.add_option("--json", json, "a file for the report");
  CLI11_PARSE(app, argc, argv);
  const Json report = Bench(keeper, rounds).run();
  std::printf("64 MiB: memcpy %.1f ms, gathered %.1f ms, scattered %.1f ms\n",
              report["seconds_memcpy"].get<double>() * 1e3,
              report["seconds_gathered"].get<double>() * 1e3,
              report["seconds_scattered"].get<double>() * 1e3);
  std::printf("engine held up %.1f us (p99 %.1f), commit until opened %.1f us (p99 %.1f)\n",
              report["seconds_engine_held_up"].get<double>() * 1e6,
              report["seconds_engine_held_up_p99"].get<double>() * 1e6,
              report["seconds_commit_until_opened"].get<double>() * 1e6,
              report["seconds_commit_until_opened_p99"].get<double>() * 1e6);
  print_goals(report["goals"]);
  write_report(json, report);
  return 0;
}
