// SPDX-License-Identifier: Apache-2.0
// The cost of posting: the time that the caller's thread computes in prepare() and post() of pieces
// that lie apart, with few blocks in many planes and the other way round. On an emulated device,
// which is told of them as a GPU is; the bytes are compared by the tests.

#include <time.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>

#include "emulated/memory.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"
#include "transfer/transfer.hpp"

namespace {

using namespace aqua;
using bench::Memory;
using bench::must;

struct Goal {
  std::size_t pieces;
  double most_us;  // prepared and posted
};
constexpr Goal kGoals[] = {{65'536, 300}, {262'144, 1'000}};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Microseconds of the caller's thread. The stream is held while it posts.
nlohmann::json post_pieces(const Goal& goal, unsigned planes, unsigned repetitions) {
  constexpr std::size_t kPieceBytes = 256;
  const std::size_t pieces = goal.pieces;
  const std::size_t blocks = pieces / planes;
  const std::size_t bytes = pieces * kPieceBytes;
  const auto dev = must(device::open_emulated({.total_bytes = 4 * bytes}));
  const Memory cache(*dev, 2 * bytes);
  const Memory tensor(*dev, bytes);
  const Stream stream = must(dev->create_stream());
  LayoutSpec spec;
  spec.layers = planes / 2;
  spec.planes_per_layer = 2;
  spec.block_count = static_cast<std::uint32_t>(2 * blocks);
  spec.block_stride = kPieceBytes;
  spec.axes = BlockAxes::whole(kPieceBytes);
  for (std::size_t p = 0; p < planes; ++p)
    spec.planes.push_back(cache.base() + p * 2 * blocks * kPieceBytes);
  const Layout layout = must(Layout::make(spec));
  std::vector<std::uint32_t> list(2 * blocks);
  std::iota(list.begin(), list.end(), 0U);
  std::shuffle(list.begin(), list.end(), std::mt19937(1));
  list.resize(blocks);
  transfer::Mover mover(*dev);
  std::vector<double> prepare;
  std::vector<double> post;
  std::vector<double> both;
  for (unsigned r = 0; r <= repetitions; ++r) {
    std::promise<void> gate;
    must(device::launch(*dev, stream, [opened = gate.get_future().share()] { opened.wait(); }));
    const double start = thread_seconds();
    auto transfer = must(mover.prepare({.layout = &layout,
                                        .blocks = list,
                                        .tensor = tensor.base(),
                                        .tensor_bytes = bytes,
                                        .direction = transfer::Direction::offload}));
    const double prepared = thread_seconds();
    must(transfer.post(stream));
    const double posted = thread_seconds();
    gate.set_value();
    must(transfer.ticket().wait());
    if (r == 0) continue;  // warm-up
    prepare.push_back(1e6 * (prepared - start));
    post.push_back(1e6 * (posted - prepared));
    both.push_back(1e6 * (posted - start));
  }
  must(dev->destroy_stream(stream));
  const bool met = bench::median(both) < goal.most_us;
  std::printf(
      "%6zu pieces, %2u planes: prepare %4.0f us, post %4.0f, both %4.0f  (goal %4.0f: %s)\n",
      pieces, planes, bench::median(prepare), bench::median(post), bench::median(both),
      goal.most_us, met ? "met" : "missed");
  return {{"planes", planes},
          {"pieces", pieces},
          {"prepare_us", bench::median(prepare)},
          {"post_us", bench::median(post)},
          {"both_us", bench::median(both)},
          {"both_us_p25", bench::quantile(both, 0.25)},
          {"both_us_p75", bench::quantile(both, 0.75)},
          {"goal_us", goal.most_us},
          {"met", met}};
}

}  // namespace

int main(int argc, char** argv) {
  unsigned repetitions = 41;
  std::string json;
  CLI::App app{"What prepare() and post() of a transfer cost the calling thread."};
  app.option_defaults()->always_capture_default();
  app.add_option("--repetitions", repetitions)->check(CLI::Range(1, 100'000));
  app.add_option("--json", json, "write the report");
  CLI11_PARSE(app, argc, argv);
  nlohmann::json rows;
  for (const Goal& goal : kGoals) {
    for (const unsigned planes : {64U, 2U}) rows.push_back(post_pieces(goal, planes, repetitions));
  }
  aqua::bench::write_report(json,
                            {{"device", "emulated"}, {"repetitions", repetitions}, {"rows", rows}});
  return 0;
}
