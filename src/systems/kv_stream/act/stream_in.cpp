// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/act/stream_in.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::kv_stream {

Result<void> StreamIn::Parts::check(unsigned layer) const {
  if (layer < layers.size()) return {};
  return Error{Code::invalid_argument, concat("layer ", layer, ": there are ", layers.size())};
}

StreamIn::StreamIn(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
StreamIn::StreamIn(StreamIn&&) noexcept = default;
StreamIn& StreamIn::operator=(StreamIn&&) noexcept = default;
StreamIn::~StreamIn() = default;

Result<bool> StreamIn::done() {
  for (unsigned layer = 0; layer < parts_->layers.size(); ++layer) {
    AQUA_ASSIGN(const bool there, layer_done(layer));
    if (!there) return false;
  }
  for (; !parts_->parcels.empty(); parts_->parcels.pop_back())
    AQUA_TRY(parts_->carrier.confirm(parts_->parcels.back()));
  return true;
}

Result<void> StreamIn::wait() {
  for (std::vector<Ticket>& layer : parts_->layers) {
    for (Ticket& ticket : layer) AQUA_TRY(ticket.wait());
  }
  AQUA_TRY(done());
  return {};
}

Result<bool> StreamIn::layer_done(unsigned layer) const {
  AQUA_TRY(parts_->check(layer));
  bool all = true;
  for (const Ticket& ticket : parts_->layers[layer]) {
    AQUA_ASSIGN(const bool there, ticket.done());
    all = all && there;
  }
  return all;
}

Result<void> StreamIn::stream_wait(Stream stream, unsigned layer) const {
  AQUA_TRY(parts_->check(layer));
  for (const Ticket& ticket : parts_->layers[layer]) AQUA_TRY(ticket.stream_wait(stream, 0));
  return {};
}

}  // namespace aqua::kv_stream
