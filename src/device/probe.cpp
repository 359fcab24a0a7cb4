// SPDX-License-Identifier: Apache-2.0
#include "device/probe.hpp"

#include <array>
#include <memory>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/own_stream.hpp"

namespace aqua::device {
namespace {

using Word = std::array<std::byte, 16>;

Result<void> copy_and_wait(Device& device, Stream stream, std::byte* dst, const std::byte* src) {
  AQUA_ASSIGN(const auto done, device.create_event());
  auto batch = std::make_shared<const std::vector<CopySegment>>(
      std::vector<CopySegment>{{dst, src, sizeof(Word)}});
  AQUA_TRY(device.copy(std::move(batch), stream));
  AQUA_TRY(device.record(*done, stream));
  return device.synchronize(*done);
}

Result<void> round_trip(Device& device, std::byte* lent, std::byte* borrowed) {
  Word written{};
  Word read{};
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = static_cast<std::byte>(0xa0 + i);
  AQUA_ASSIGN(auto stream, OwnStream::create(device));
  auto moved = copy_and_wait(device, *stream, lent, written.data());
  if (moved.ok()) moved = copy_and_wait(device, *stream, read.data(), borrowed);
  AQUA_TRY(stream.end());
  AQUA_TRY(std::move(moved));
  if (read == written) return {};
  return Error{Code::internal,
               concat("probe: what ", device.info().name, " wrote is not what its import reads")};
}

}  // namespace

Result<void> probe_sharing(Device& device) {
  const std::size_t bytes = device.info().granularity;
  AQUA_ASSIGN(const auto range, device.reserve(2 * bytes));
  AQUA_ASSIGN(const auto lent, device.create_slab(bytes));
  AQUA_ASSIGN(UniqueFd fd, device.export_slab(*lent));
  AQUA_ASSIGN(const auto borrowed, device.import_slab(std::move(fd), bytes));
  AQUA_TRY(device.map(*range, 0, *lent));
  AQUA_TRY(device.map(*range, bytes, *borrowed));
  return round_trip(device, range->base(), range->base() + bytes);
}

}  // namespace aqua::device
