// SPDX-License-Identifier: Apache-2.0
// posting_bench [--repetitions N] [--json FILE]
//
// The cost of posting: the time that the caller's thread computes in prepare() and post() of pieces
// that lie apart, with few blocks in many planes and the other way round. On an emulated device,
// which is told of them as a GPU is; the bytes are compared by the tests.

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <string_view>

#include "emulated_memory.hpp"
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
  spec.block_stride = spec.segment_bytes = kPieceBytes;
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
  std::string json_path;
  bool understood = argc % 2 == 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--repetitions") {
      repetitions = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
    } else if (option == "--json") {
      json_path = argv[i + 1];
    } else {
      understood = false;
    }
  }
  if (!understood || repetitions == 0) {
    std::fprintf(stderr, "Usage: posting_bench [--repetitions N] [--json FILE]\n");
    return 2;
  }
  nlohmann::json rows;
  for (const Goal& goal : kGoals) {
    for (const unsigned planes : {64U, 2U}) rows.push_back(post_pieces(goal, planes, repetitions));
  }
  if (json_path.empty()) return 0;
  std::ofstream file(json_path);
  file << nlohmann::json{{"device", "emulated"}, {"repetitions", repetitions}, {"rows", rows}}.dump(
              2)
       << '\n';
  return file ? 0 : 1;
}
