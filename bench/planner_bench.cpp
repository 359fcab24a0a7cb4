// planner_bench [--device D] [--peer D] [--mib N] [--sizes N] [--seed N] [--json FILE]
//
// Does the planner choose well where calibration did not look? Calibrates the device's links, then
// moves pieces of random sizes (4 KiB to 4 MiB, in transfers up to N MiB) by each way in turn, and
// compares the way that the planner chose with the best of them. Each measurement moves N MiB in
// all; its time is the median of its transfers. Each way's bytes are compared, both directions.
//
//   ratio = seconds of the chosen way / seconds of the fastest     goals: median 1.03, worst 1.10
//
// Any device: emu:0, cuda:0; --peer names the lender (cuda:0 itself where there is but one GPU).
// Exits 77 where there is no such device.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "aqua/runtime.hpp"
#include "harness.hpp"
#include "runtime/options.hpp"
#include "samples.hpp"
#include "transfer/far_memory.hpp"
#include "transfer/piece_shape.hpp"
#include "transfer/transfer.hpp"

namespace {

using namespace aqua;
using bench::must;
using nlohmann::json;
using transfer::Direction;
using transfer::FarMemory;
using transfer::PieceShape;
using transfer::Way;
using Clock = std::chrono::steady_clock;

constexpr double kGoalMedian = 1.03, kGoalWorst = 1.10;
constexpr unsigned kLayers = 32;
constexpr std::size_t kFewest = 5, kMost = 2000;  // transfers of a measurement

struct Wanted {
  std::string device = "emu:0", peer = "emu:1", json{};
  std::size_t mib = 64, sizes = 30;
  unsigned seed = 1;
};

std::unique_ptr<device::Device> open(const std::string& name, std::size_t bytes) {
  auto opened = runtime::open_device({.device = name, .emulated = {.total_bytes = bytes}});
  if (!opened.ok() && !name.starts_with("emu:")) {
    std::fprintf(stderr, "planner_bench: skipped: %s\n", opened.error().message.c_str());
    std::exit(77);
  }
  return must(std::move(opened), name.c_str());
}

// A cache on the device and, on the host, what it is filled with and where results are looked at.
class Bench {
 public:
  Bench(device::Device& device, std::size_t bytes)
      : device_(device),
        cache_(must(FarMemory::local(device, 2 * bytes), "cache")),
        words_(must(FarMemory::host(device, 2 * bytes), "words")),
        seen_(must(FarMemory::host(device, 2 * bytes), "results")),
        stream_(must(device::OwnStream::create(device), "stream")),
        mover_(device) {
    std::mt19937_64 random(1);
    auto* words = reinterpret_cast<std::uint64_t*>(words_->link().base);
    for (std::size_t i = 0; i < 2 * bytes / sizeof *words; ++i) words[i] = random();
  }

  [[nodiscard]] transfer::WaySet ways() const {
    transfer::WaySet all{Way::staged};
    for (const Way way : {Way::each, Way::batched, Way::kernel})
      if (device_.supports(transfer::method_of(way), *stream_)) all.add(way);
    return all;
  }

  // Medians in the order of Way; 0: not possible.
  std::vector<double> measure(const transfer::LinkMemory& far, Direction direction,
                              const PieceShape& shape, const transfer::WaySet& ways,
                              std::size_t bytes_in_all) {
    const Layout layout = must(shape.layout(cache_->link().base), "layout");
    const auto blocks = shape.blocks();
    transfer::Request request{.layout = &layout,
                              .blocks = blocks,
                              .tensor = far.base,
                              .tensor_bytes = far.bytes,
                              .direction = direction,
                              .link = far.link,
                              .stream = *stream_};
    std::vector<std::vector<double>> seconds(transfer::kWays.size());
    const std::size_t times = std::clamp(bytes_in_all / shape.bytes(), kFewest, kMost);
    for (std::size_t i = 0; i <= times; ++i) {
      for (const Way way : transfer::kWays) {
        if (!ways.has(way)) continue;
        request.way = way;
        if (i > 0) {
          seconds[static_cast<std::size_t>(way)].push_back(move(request));
        } else {  // warms up
          verify(request, shape);
        }
      }
    }
    std::vector<double> medians;
    for (const auto& each : seconds) medians.push_back(each.empty() ? 0 : bench::median(each));
    return medians;
  }

 private:
  double move(const transfer::Request& request) {
    auto prepared = must(mover_.prepare(request), "prepare");
    const auto start = Clock::now();
    must(prepared.post(*stream_), "post");
    must(prepared.ticket().wait(), "wait");
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    auto one = std::make_shared<const std::vector<device::CopySegment>>(
        std::vector<device::CopySegment>{{.dst = to, .src = from, .bytes = bytes}});
    must(device_.copy(std::move(one), *stream_), "copy");
  }
  void verify(const transfer::Request& request, const PieceShape& shape) {
    const bool offload = request.direction == Direction::offload;
    std::byte* const cache = cache_->link().base;
    std::byte* const words = words_->link().base;
    std::byte* const seen = seen_->link().base;
    std::byte* const from = offload ? cache : request.tensor;
    std::byte* const to = offload ? request.tensor : cache;
    const std::size_t whole = shape.cache_bytes(), packed = shape.bytes();
    copy(to, words + 64, offload ? packed : whole);  // other words than will be there
    copy(from, words, offload ? whole : packed);
    (void)move(request);
    copy(seen, to, offload ? packed : whole);
    must(device_.synchronize(*stream_), "synchronize");
    for (unsigned layer = 0; layer < shape.layers; ++layer) {
      for (std::size_t i = 0; i < request.blocks.size(); ++i) {
        const std::size_t block = std::size_t{layer} * shape.per_layer + request.blocks[i];
        const std::size_t in_cache = block * shape.stride();
        const std::size_t in_tensor =
            request.layout->packed_offset(layer, 0, i, request.blocks.size());
        const bool right =
            std::memcmp(seen + (offload ? in_tensor : in_cache),
                        words + (offload ? in_cache : in_tensor), shape.piece_bytes) == 0;
        if (!right) {
          std::fprintf(stderr, "planner_bench: wrong bytes by %s\n",
                       to_string(*request.way).data());
          std::exit(1);
        }
      }
    }
  }

  device::Device& device_;
  std::unique_ptr<FarMemory> cache_, words_, seen_;
  device::OwnStream stream_;
  transfer::Mover mover_;
};

// Evenly over the logarithms; pieces of whole 16 bytes, of no size that calibration measures but by
// chance.
std::vector<PieceShape> draw(const Wanted& wanted) {
  std::mt19937_64 random(wanted.seed);
  const auto between = [&](double low, double high) {
    const double uniform = static_cast<double>(random() >> 11U) * 0x1p-53;
    return static_cast<std::size_t>(low * std::pow(high / low, uniform));
  };
  std::vector<PieceShape> shapes;
  const double most = static_cast<double>(wanted.mib << 20);
  while (shapes.size() < wanted.sizes) {
    const std::size_t piece = between(4 << 10, 4 << 20) / 16 * 16;
    shapes.emplace_back(piece, between(static_cast<double>(piece), most), kLayers);
  }
  return shapes;
}

json compare(const transfer::LinkMemory& far, Direction direction, const PieceShape& shape,
             const transfer::CurveSet& curves, const transfer::WaySet& ways,
             const std::vector<double>& seconds) {
  const transfer::Job job{.link = far.link,
                          .direction = direction,
                          .pieces = {shape.count(), shape.piece_bytes},
                          .possible = ways};
  const transfer::Choice choice = choose(curves, job);
  double best = 0;
  json by_way;
  for (const Way way : transfer::kWays) {
    const double one = seconds[static_cast<std::size_t>(way)];
    if (one == 0) continue;
    by_way[std::string(to_string(way))] = one;
    best = best == 0 ? one : std::min(best, one);
  }
  const double took = seconds[static_cast<std::size_t>(choice.way)];
  return {{"link", to_string(far.link)},
          {"direction", to_string(direction)},
          {"piece_bytes", shape.piece_bytes},
          {"bytes", shape.bytes()},
          {"chosen", to_string(choice.way)},
          {"expected_s", choice.seconds()},
          {"seconds", by_way},
          {"ratio", took / best}};
}

json run(const Wanted& wanted) {
  const std::size_t bytes = wanted.mib << 20;
  const auto device = open(wanted.device, 8 * bytes + (std::size_t{512} << 20));
  std::unique_ptr<device::Device> neighbour;
  if (!wanted.peer.empty()) neighbour = open(wanted.peer, 2 * bytes + (std::size_t{128} << 20));
  const auto curves = must(transfer::calibrate_links(*device, neighbour.get()), "calibrate");
  std::vector<std::unique_ptr<FarMemory>> far;
  far.push_back(must(FarMemory::local(*device, 2 * bytes), "local"));
  far.push_back(must(FarMemory::host(*device, 2 * bytes), "host"));
  if (neighbour) far.push_back(must(FarMemory::peer(*device, *neighbour, 2 * bytes), "peer"));
  Bench bench(*device, bytes);
  const transfer::WaySet ways = bench.ways();
  const std::vector<PieceShape> shapes = draw(wanted);
  json rows = json::array(), links;
  bool met = true;
  for (const auto& memory : far) {
    std::vector<double> ratios;
    for (const PieceShape& shape : shapes) {
      for (const Direction direction : transfer::kDirections) {
        const auto seconds = bench.measure(memory->link(), direction, shape, ways, bytes);
        rows.push_back(compare(memory->link(), direction, shape, curves, ways, seconds));
        ratios.push_back(rows.back()["ratio"]);
      }
    }
    const double median = bench::median(ratios), worst = bench::quantile(ratios, 1);
    met = met && median <= kGoalMedian && worst <= kGoalWorst;
    const std::string name(to_string(memory->link().link));
    links[name] = {{"median", median}, {"worst", worst}};
    std::printf("%-6s %zu sizes, each direction: median %.3f of the best way, worst %.3f\n",
                name.c_str(), shapes.size(), median, worst);
    std::fflush(stdout);
  }
  return {{"benchmark", "planner"},
          {"gpu", device->info().name},
          {"mib", wanted.mib},
          {"sizes", wanted.sizes},
          {"seed", wanted.seed},
          {"verified", true},
          {"goal_median", kGoalMedian},
          {"goal_worst", kGoalWorst},
          {"goals_met", met},
          {"links", links},
          {"rows", rows}};
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  CLI::App app{
      "Compares the planner's choices with the best way, at sizes that calibration did not see."};
  app.option_defaults()->always_capture_default();
  app.add_option("--device", wanted.device, "emu:N, cuda:N or GPU-UUID");
  app.add_option("--peer", wanted.peer, "who lends; empty: no peer link");
  app.add_option("--mib", wanted.mib, "moved by each measurement, and by a transfer at most")
      ->check(CLI::Range(8, 16'384));
  app.add_option("--sizes", wanted.sizes, "drawn")->check(CLI::Range(1, 10'000));
  app.add_option("--seed", wanted.seed, "of the sizes");
  app.add_option("--json", wanted.json, "write the report");
  CLI11_PARSE(app, argc, argv);
  const json report = run(wanted);
  std::printf("goals (median %.2f, worst %.2f): %s\n", kGoalMedian, kGoalWorst,
              report["goals_met"].get<bool>() ? "met" : "missed");
  if (!wanted.json.empty()) std::ofstream(wanted.json) << report.dump(1) << '\n';
  return 0;
}
