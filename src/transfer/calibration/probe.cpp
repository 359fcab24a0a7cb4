// SPDX-License-Identifier: Apache-2.0
#include "transfer/calibration/probe.hpp"

#include <algorithm>
#include <vector>

#include "base/try.hpp"
#include "transfer/calibration/idle_time.hpp"
#include "transfer/calibration/piece_shape.hpp"

namespace aqua::transfer {
namespace {

constexpr unsigned kLayers = 16;

// Whether some of what the device has was asked for and did not run. What it does not have at all
// is not asked for alone: staging does without.
bool passed_over(const device::CopyCounts& counts) {
  return counts.unreachable + counts.full + counts.refused > 0;
}

}  // namespace

Probe::Probe(device::Device& device, const CalibrationOptions& options)
    : device_(device), options_(options) {}

Result<std::unique_ptr<Probe>> Probe::create(device::Device& device, std::size_t bytes,
                                             const CalibrationOptions& options) {
  std::unique_ptr<Probe> probe(new Probe(device, options));
  const std::size_t unit = device.info().granularity;
  const std::size_t cache = bytes + (bytes / options.smallest_piece + 1) * 2 * PieceShape::kGap;
  AQUA_ASSIGN(probe->slab_, device.create_slab((cache + unit - 1) / unit * unit));
  AQUA_ASSIGN(probe->cache_, device.reserve(probe->slab_->bytes()));
  AQUA_TRY(device.map(*probe->cache_, 0, *probe->slab_));
  AQUA_ASSIGN(probe->stream_, device::OwnStream::create(device));
  probe->mover_ = std::make_unique<Mover>(device);
  return probe;
}

bool Probe::offers(Way way) const {
  return way == Way::staged || device_.supports(method_of(way), *stream_);
}

Probe::Clock::duration Probe::middle_of(std::vector<Clock::duration>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

Result<Probe::Clock::duration> Probe::once(const TransferRequest& request) {
  AQUA_ASSIGN(auto transfer, mover_->prepare(request));
  const auto start = Clock::now();
  AQUA_TRY(transfer.post(*stream_));
  AQUA_TRY(transfer.ticket().wait());
  return Clock::now() - start;
}

Result<std::optional<CurvePoint>> Probe::measure(const LinkMemory& far, Direction direction,
                                                 Way way, std::size_t piece_bytes,
                                                 std::size_t bytes) {
  const PieceShape shape(piece_bytes, bytes, kLayers);
  AQUA_ASSIGN(const Layout layout, shape.layout(cache_->base()));
  const std::vector<std::uint32_t> blocks = shape.blocks();
  TransferRequest request;
  request.layout = &layout;
  request.blocks = blocks;
  request.tensor = far.base;
  request.tensor_bytes = far.bytes;
  request.direction = direction;
  request.link = far.link;
  request.stream = *stream_;
  request.way = way;
  std::vector<Clock::duration> times;
  std::vector<Clock::duration> idle;  // sampled in between: on a busy machine it changes
  for (unsigned i = 0; i <= options_.repetitions; ++i) {
    if (options_.stop && options_.stop()) {
      return Error{Code::cancelled, "calibrate: told to stop"};
    }
    AQUA_ASSIGN(const Clock::duration nothing, idle_time(device_, *stream_, 1));
    const device::CopyCounts before = device_.copy_counts();
    AQUA_ASSIGN(const Clock::duration took, once(request));
    if (i == 0 || passed_over(device_.copy_counts().since(before))) continue;  // the first warms up
    idle.push_back(nothing);
    times.push_back(took);
  }
  std::optional<CurvePoint> point;
  if (times.empty()) return point;
  const auto ns = net_time(middle_of(times), middle_of(idle)).count();
  point = {piece_bytes, shape.bytes(), static_cast<std::uint64_t>(std::max<long>(ns, 1))};
  return point;
}

}  // namespace aqua::transfer
