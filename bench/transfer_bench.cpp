// SPDX-License-Identifier: Apache-2.0
// transfer_bench [--mib N] [--repetitions N] [--json FILE]
//
// Gather and scatter of 16 KiB blocks, 32 layers of K and V planes, in random order, against
// one large memcpy of as many bytes. All on an emulated device, so that this measures the
// library's own path, not a link. With one stream, then with two that take half the blocks
// each. The memcpy runs as a kernel on the same streams: the same threads, the same memory.
//
// The three alternate, so that whatever else the machine does falls on all alike. Streams
// are held behind a gate until all is posted and kernels take the times. All pages are
// touched before; the destination is cleared before every run and compared after it.

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>

#include "device/memfd/device.hpp"
#include "emulated/memory.hpp"
#include "samples.hpp"
#include "transfer/transfer.hpp"

namespace {

using namespace aqua;
using bench::Memory;
using bench::must;
using Clock = std::chrono::steady_clock;
using transfer::Direction;

constexpr unsigned kLayers = 32;
constexpr unsigned kPlanes = 2;
constexpr std::size_t kBlockBytes = std::size_t{16} << 10;
constexpr std::size_t kPerBlock = kLayers * kPlanes * kBlockBytes;  // 1 MiB

// Cache of twice the blocks that move: gathered from some, scattered to others.
class Bench {
 public:
  explicit Bench(std::size_t blocks)
      : n_(blocks),
        dev_(must(device::open_emulated({.total_bytes = 4 * blocks * kPerBlock}))),
        cache_(*dev_, 2 * n_ * kPerBlock),
        tensor_(*dev_, n_ * kPerBlock),
        streams_{must(dev_->create_stream()), must(dev_->create_stream())},
        mover_(*dev_) {
    LayoutSpec spec;
    spec.layers = kLayers;
    spec.planes_per_layer = kPlanes;
    spec.block_count = static_cast<std::uint32_t>(2 * n_);
    spec.block_stride = kBlockBytes;
    spec.axes = BlockAxes::whole(kBlockBytes);
    for (std::size_t p = 0; p < kLayers * kPlanes; ++p) {
      spec.planes.push_back(cache_.base() + p * 2 * n_ * kBlockBytes);
    }
    layout_.emplace(must(Layout::make(spec)));
    std::vector<std::uint32_t> order(2 * n_);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    sources_.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_));
    targets_.assign(order.begin() + static_cast<std::ptrdiff_t>(n_), order.end());
    on_device([this] {
      std::mt19937_64 random(2);
      auto* words = reinterpret_cast<std::uint64_t*>(device::kernel_view(cache_.base()));
      for (std::size_t i = 0; i < 2 * n_ * kPerBlock / 8; ++i) words[i] = random();
      std::memset(device::kernel_view(tensor_.base()), 0, n_ * kPerBlock);
    });
  }

  // Seconds from the first byte to the last.
  double gather(std::size_t ways) {
    clear_tensor();
    const double seconds = timed_transfers(Direction::offload, sources_, ways);
    verify(sources_, ways);
    return seconds;
  }
  // The tensor holds what gather() left.
  double scatter(std::size_t ways) {
    clear(targets_);
    const double seconds = timed_transfers(Direction::fetch, targets_, ways);
    verify(targets_, ways);
    return seconds;
  }
  double copy_plain(std::size_t ways) {
    clear_tensor();
    const std::size_t share = n_ * kPerBlock / ways;
    return timed(ways, [&](std::size_t w) {
      must(device::launch(*dev_, streams_[w], [this, w, share] {
        std::memcpy(device::kernel_view(tensor_.base()) + w * share,
                    device::kernel_view(cache_.base()) + w * share, share);
      }));
    });
  }
  // Host time of prepare and post in the transfers so far.
  std::vector<double> host_seconds;

 private:
  template <typename Kernel>
  void on_device(Kernel kernel) {
    must(device::launch(*dev_, streams_[0], kernel));
    drain(streams_[0]);
  }
  void drain(Stream stream) {
    auto event = must(dev_->create_event());
    must(dev_->record(*event, stream));
    must(dev_->synchronize(*event));
  }
  template <typename Post>
  double timed(std::size_t ways, Post post) {
    std::promise<void> gate;
    const auto opened = gate.get_future().share();
    std::vector<Clock::time_point> starts(ways);
    std::vector<Clock::time_point> ends(ways);
    for (std::size_t w = 0; w < ways; ++w) {
      must(device::launch(*dev_, streams_[w], [&starts, opened, w] {
        opened.wait();
        starts[w] = Clock::now();
      }));
      post(w);
      must(device::launch(*dev_, streams_[w], [&ends, w] { ends[w] = Clock::now(); }));
    }
    gate.set_value();
    for (std::size_t w = 0; w < ways; ++w) drain(streams_[w]);
    return std::chrono::duration<double>(*std::ranges::max_element(ends) -
                                         *std::ranges::min_element(starts))
        .count();
  }
  double timed_transfers(Direction direction, BlockList blocks, std::size_t ways) {
    const std::size_t share = n_ / ways;
    std::vector<Ticket> tickets;
    const double seconds = timed(ways, [&](std::size_t w) {
      const auto start = Clock::now();
      auto prepared = must(mover_.prepare({.layout = &*layout_,
                                           .blocks = blocks.subspan(w * share, share),
                                           .tensor = tensor_.base(),
                                           .tensor_bytes = n_ * kPerBlock,
                                           .offset = w * share * kPerBlock,
                                           .direction = direction}));
      must(prepared.post(streams_[w]));
      host_seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      tickets.push_back(prepared.ticket());
    });
    for (Ticket& ticket : tickets) must(ticket.wait());
    return seconds;
  }
  template <typename Visit>  // visit(block in the cache, block in the tensor)
  void each_block(BlockList blocks, std::size_t ways, Visit visit) {
    const std::size_t share = n_ / ways;
    on_device([&] {
      for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t p = 0; p < kLayers * kPlanes; ++p) {
          visit(device::kernel_view(layout_->spec().planes[p]) + blocks[i] * kBlockBytes,
                device::kernel_view(tensor_.base()) + i / share * share * kPerBlock +
                    (p * share + i % share) * kBlockBytes);
        }
      }
    });
  }
  void clear(BlockList blocks) {
    each_block(blocks, 1, [](std::byte* block, std::byte*) { std::memset(block, 0, kBlockBytes); });
  }
  void clear_tensor() {
    on_device([this] { std::memset(device::kernel_view(tensor_.base()), 0, n_ * kPerBlock); });
  }
  void verify(BlockList blocks, std::size_t ways) {
    each_block(blocks, ways, [](const std::byte* a, const std::byte* b) {
      if (std::memcmp(a, b, kBlockBytes) == 0) return;
      std::fprintf(stderr, "transfer_bench: wrong bytes\n");
      std::exit(1);
    });
  }

  const std::size_t n_;
  std::unique_ptr<device::Device> dev_;
  Memory cache_;
  Memory tensor_;
  std::array<Stream, 2> streams_;
  transfer::Mover mover_;
  std::optional<Layout> layout_;
  std::vector<std::uint32_t> sources_;
  std::vector<std::uint32_t> targets_;
};

nlohmann::json row_of(const char* name, std::size_t streams, double bytes,
                      const std::vector<double>& seconds, const std::vector<double>& memcpy_s) {
  const auto gbps = [&](double s) { return bytes / s / 1e9; };
  const auto pairs = bench::ratios(memcpy_s, seconds);
  std::printf("%-8s %7zu %8.2f GB/s  (%5.2f to %5.2f)   ratio to memcpy %.3f  (%.3f to %.3f)\n",
              name, streams, gbps(bench::median(seconds)), gbps(bench::quantile(seconds, 0.75)),
              gbps(bench::quantile(seconds, 0.25)), bench::median(pairs),
              bench::quantile(pairs, 0.25), bench::quantile(pairs, 0.75));
  return {{"name", name},
          {"streams", streams},
          {"gbps_median", gbps(bench::median(seconds))},
          {"gbps_p25", gbps(bench::quantile(seconds, 0.75))},
          {"gbps_p75", gbps(bench::quantile(seconds, 0.25))},
          {"ratio_to_memcpy_median", bench::median(pairs)},
          {"ratio_to_memcpy_p25", bench::quantile(pairs, 0.25)},
          {"ratio_to_memcpy_p75", bench::quantile(pairs, 0.75)},
          {"seconds", seconds}};
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t mib = 256;
  unsigned repetitions = 15;
  std::string json_path;
  CLI::App app{"Gather and scatter of blocks, against memcpy by as many threads."};
  app.option_defaults()->always_capture_default();
  app.add_option("--mib", mib, "moved by each measurement, an even number")
      ->check(CLI::Range(2, 65'536))
      ->check([](const std::string& text) {
        return (text.back() - '0') % 2 == 0 ? "" : "is not even";
      });
  app.add_option("--repetitions", repetitions, "of each")->check(CLI::Range(1, 10'000));
  app.add_option("--json", json_path, "write the result");
  CLI11_PARSE(app, argc, argv);
  Bench bench(mib);
  const double bytes = static_cast<double>(mib * kPerBlock);
  nlohmann::json json{{"bytes", mib * kPerBlock},   {"block_bytes", kBlockBytes},
                      {"layers", kLayers},          {"planes", kPlanes},
                      {"repetitions", repetitions}, {"device", "emulated"}};
  std::printf(
      "%zu MiB in blocks of 16 KiB, %u layers x %u planes, %u repetitions; median (p25 to "
      "p75)\n%-8s %7s\n",
      mib, kLayers, kPlanes, repetitions, "", "streams");
  for (const std::size_t streams : {std::size_t{1}, std::size_t{2}}) {
    std::vector<double> plain;
    std::vector<double> gather;
    std::vector<double> scatter;
    for (unsigned r = 0; r <= repetitions; ++r) {
      const double p = bench.copy_plain(streams);
      const double g = bench.gather(streams);
      const double s = bench.scatter(streams);
      if (r == 0) continue;  // warm-up
      plain.push_back(p);
      gather.push_back(g);
      scatter.push_back(s);
    }
    json["results"].push_back(row_of("memcpy", streams, bytes, plain, plain));
    json["results"].push_back(row_of("gather", streams, bytes, gather, plain));
    json["results"].push_back(row_of("scatter", streams, bytes, scatter, plain));
  }
  json["host_seconds_prepare_and_post"] = bench::median(bench.host_seconds);
  std::printf("prepare and post take %.3f ms of the caller's thread\n",
              1e3 * bench::median(bench.host_seconds));
  if (!json_path.empty()) {
    std::ofstream file(json_path);
    file << json.dump(2) << '\n';
    if (!file) return 1;
  }
  return 0;
}
