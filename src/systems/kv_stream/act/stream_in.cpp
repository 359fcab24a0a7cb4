// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/act/stream_in.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/act/all_done.hpp"

namespace aqua::kv_stream {

Result<void> StreamIn::Parts::check(unsigned layer) const {
  if (layer < layers->size()) return {};
  return Error{Code::invalid_argument, concat("layer ", layer, ": there are ", layers->size())};
}

StreamIn::StreamIn(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
StreamIn::StreamIn(StreamIn&&) noexcept = default;
StreamIn& StreamIn::operator=(StreamIn&&) noexcept = default;
StreamIn::~StreamIn() = default;

Result<bool> StreamIn::done() {
  AQUA_ASSIGN(const bool there, all_done(*parts_->layers));
  if (!there) return false;
  // What has landed is here, also where the senders cannot be told.
  for (const std::uint64_t parcel : std::exchange(parts_->parcels, {}))
    (void)parts_->carrier.confirm(parcel);
  return true;
}

Result<void> StreamIn::wait() {
  Result<void> first;
  for (Ticket& layer : *parts_->layers) {
    auto waited = layer.wait();
    if (first.ok()) first = std::move(waited);
  }
  AQUA_TRY(first);
  AQUA_TRY(done());
  return {};
}

Result<bool> StreamIn::layer_done(unsigned layer) const {
  AQUA_TRY(parts_->check(layer));
  return (*parts_->layers)[layer].done();
}

Result<void> StreamIn::stream_wait(Stream stream, unsigned layer) const {
  AQUA_TRY(parts_->check(layer));
  return (*parts_->layers)[layer].stream_wait(stream, 0);
}

}  // namespace aqua::kv_stream
