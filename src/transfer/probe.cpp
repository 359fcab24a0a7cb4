#include "transfer/probe.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "base/try.hpp"

namespace aqua::transfer {
namespace {

// Between pieces, so that no two are neighbours, and each begins where vector accesses may.
constexpr std::size_t kGap = 256;
constexpr unsigned kLayers = 16;

std::size_t stride_of(std::size_t piece) {
  return (piece + kGap - 1) / kGap * kGap + kGap;
}

// What an engine's transfer would look like: pieces in random order, dealt over layers.
struct Shape {
  unsigned layers = 1;
  std::uint32_t per_layer = 1;
  std::size_t piece_bytes = 0;

  Shape(std::size_t piece, std::size_t bytes) : piece_bytes(piece) {
    const std::size_t count = std::max<std::size_t>(bytes / piece, 1);
    layers = static_cast<unsigned>(std::min<std::size_t>(kLayers, count));
    per_layer = static_cast<std::uint32_t>(count / layers);
  }
  [[nodiscard]] std::size_t bytes() const { return std::size_t{layers} * per_layer * piece_bytes; }
  [[nodiscard]] Result<Layout> layout(std::byte* base) const {
    LayoutSpec spec;
    spec.layers = layers;
    spec.planes_per_layer = 1;
    spec.block_count = per_layer;
    spec.block_stride = stride_of(piece_bytes);
    spec.segment_bytes = piece_bytes;
    for (unsigned l = 0; l < layers; ++l) {
      spec.planes.push_back(base + std::size_t{l} * per_layer * spec.block_stride);
    }
    return Layout::make(std::move(spec));
  }
  [[nodiscard]] std::vector<std::uint32_t> blocks() const {
    std::vector<std::uint32_t> list(per_layer);
    std::iota(list.begin(), list.end(), 0U);
    std::shuffle(list.begin(), list.end(), std::minstd_rand(per_layer));
    return list;
  }
};

}  // namespace

Probe::Probe(device::Device& device, const CalibrationOptions& options)
    : device_(device), options_(options) {}

Result<std::unique_ptr<Probe>> Probe::create(device::Device& device, std::size_t bytes,
                                             const CalibrationOptions& options) {
  std::unique_ptr<Probe> probe(new Probe(device, options));
  const std::size_t unit = device.info().granularity;
  const std::size_t cache = bytes + (bytes / options.smallest_piece + 1) * 2 * kGap;
  AQUA_ASSIGN(probe->slab_, device.create_slab((cache + unit - 1) / unit * unit));
  AQUA_ASSIGN(probe->cache_, device.reserve(probe->slab_->bytes()));
  AQUA_TRY(device.map(*probe->cache_, 0, *probe->slab_));
  AQUA_ASSIGN(probe->event_, device.create_event());
  AQUA_ASSIGN(probe->stream_, device::OwnStream::create(device));
  probe->mover_ = std::make_unique<Mover>(device);
  std::vector<Clock::duration> idle;
  for (unsigned i = 0; i < 2 * options.repetitions + 1; ++i) {
    AQUA_ASSIGN(const Clock::duration took, probe->nothing());
    idle.push_back(took);
  }
  std::ranges::nth_element(idle, idle.begin() + options.repetitions);
  probe->idle_ = idle[options.repetitions];
  return probe;
}

bool Probe::offers(Way way) const {
  return way == Way::staged || device_.supports(method_of(way), *stream_);
}

Result<Probe::Clock::duration> Probe::nothing() {
  const auto start = Clock::now();
  AQUA_TRY(device_.record(*event_, *stream_));
  AQUA_TRY(device_.synchronize(*event_));
  return Clock::now() - start;
}

Result<Probe::Clock::duration> Probe::once(const Request& request) {
  AQUA_ASSIGN(auto transfer, mover_->prepare(request));
  const auto start = Clock::now();
  AQUA_TRY(transfer.post(*stream_));
  AQUA_TRY(transfer.ticket().wait());
  return Clock::now() - start;
}

Result<CurvePoint> Probe::measure(const LinkMemory& far, Direction direction, Way way,
                                  std::size_t piece_bytes, std::size_t bytes) {
  const Shape shape(piece_bytes, bytes);
  AQUA_ASSIGN(const Layout layout, shape.layout(cache_->base()));
  const std::vector<std::uint32_t> blocks = shape.blocks();
  Request request;
  request.layout = &layout;
  request.blocks = blocks;
  request.tensor = far.base;
  request.tensor_bytes = far.bytes;
  request.direction = direction;
  request.link = far.link;
  request.stream = *stream_;
  request.way = way;
  std::vector<Clock::duration> times;
  for (unsigned i = 0; i <= options_.repetitions; ++i) {
    if (options_.stop && options_.stop()) {
      return Error{Code::cancelled, "calibrate: told to stop"};
    }
    AQUA_ASSIGN(const Clock::duration took, once(request));
    if (i > 0) times.push_back(took);  // the first one warms up
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  const auto net = std::max(*middle - idle_, *middle / 10);
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(net).count();
  return CurvePoint{piece_bytes, shape.bytes(), static_cast<std::uint64_t>(std::max<long>(ns, 1))};
}

}  // namespace aqua::transfer
