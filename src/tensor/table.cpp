// SPDX-License-Identifier: Apache-2.0
#include "tensor/table.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"

namespace aqua::tensor {

TensorTable::TensorTable(device::Device& device, TableSpaces spaces, std::function<void()> nudge)
    : spaces_(spaces),
      context_{device, DeferredFrees(device), std::move(nudge),
               [this](const TensorEntry& entry) { forget(entry); }} {}

std::shared_ptr<TensorPlace> TensorTable::try_place(Space* space, std::size_t bytes) {
  if (space == nullptr) return nullptr;
  auto allocation = space->allocate(bytes);
  if (!allocation.ok()) return nullptr;
  try {
    return std::make_shared<TensorPlace>(*space, *allocation);
  } catch (...) {
    space->free(*allocation);
    throw;
  }
}

// Places that were freed may be what is missing.
std::shared_ptr<TensorPlace> TensorTable::try_home(std::size_t bytes) {
  if (auto home = try_place(spaces_.host, bytes)) return home;
  context_.deferred.collect();
  return try_place(spaces_.host, bytes);
}

// Reserves host memory for the tensor along with its place, so that it can leave lent memory
// whenever that is wanted back. Only a discardable tensor that has a place elsewhere does without.
Result<AquaTensor> TensorTable::allocate(const TensorOptions& options) {
  if (options.bytes == 0) return Error{Code::invalid_argument, "allocate: 0 bytes"};
  std::shared_ptr<TensorPlace> away;
  if (!options.host_only) {
    if (!options.off_device) away = try_place(spaces_.local, options.bytes);
    if (away == nullptr) away = try_place(spaces_.peer, options.bytes);
  }
  std::shared_ptr<TensorPlace> home;
  if (!options.discardable || away == nullptr) {
    home = try_home(options.bytes);
    if (home == nullptr) {
      const auto host = spaces_.host->stats();
      return Error{Code::resource_exhausted,
                   concat("allocate: no room to reserve ", options.bytes,
                          " bytes of host memory as the exit of '", options.name, "': ",
                          host.free_bytes, " bytes free, largest piece ", host.largest_free_bytes)};
    }
  }
  auto entry = std::make_shared<TensorEntry>(context_, next_id_.fetch_add(1), options, home, away);
  if (away != nullptr) away->space().set_owner(away->allocation(), entry);
  {
    const MutexLock lock(mu_);
    entries_.emplace(entry->id(), entry);
  }
  return detail::Internals::make<AquaTensor>(std::move(entry));
}

Result<std::shared_ptr<TensorPlace>> TensorTable::place_away(
    const std::shared_ptr<TensorEntry>& entry) {
  Space* const local = entry->options().off_device ? nullptr : spaces_.local;
  for (Space* space : {local, spaces_.peer}) {
    if (auto place = try_place(space, entry->options().bytes)) {
      space->set_owner(place->allocation(), entry);
      return place;
    }
  }
  return Error{Code::resource_exhausted,
               concat("promote: no room for ", entry->options().bytes, " bytes")};
}

// Nobody else gives a home to the same tensor: only the control loop asks.
bool TensorTable::ensure_home(TensorEntry& entry) {
  if (entry.has_home()) return true;
  auto home = try_home(entry.options().bytes);
  if (home == nullptr) return false;
  entry.give_home(std::move(home));
  return true;
}

std::vector<std::shared_ptr<TensorEntry>> TensorTable::all() const {
  std::vector<std::shared_ptr<TensorEntry>> list;
  const MutexLock lock(mu_);
  list.reserve(entries_.size());
  for (const auto& [id, weak] : entries_) {
    if (auto entry = weak.lock()) list.push_back(std::move(entry));
  }
  return list;
}

std::vector<std::shared_ptr<TensorEntry>> TensorTable::to_promote() const {
  auto list = all();
  std::erase_if(list, [](const auto& entry) {
    return entry->tier() != Tier::host || entry->options().host_only || entry->lost();
  });
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a->id() < b->id(); });
  return list;
}

TableUse TensorTable::use() const {
  TableUse use;
  for (const auto& entry : all()) {
    TierUse* tier = &use.host;
    if (entry->tier() == Tier::local) tier = &use.local;
    if (entry->tier() == Tier::peer) tier = &use.peer;
    if (entry->lost()) tier = &use.lost;
    ++tier->tensors;
    tier->bytes += entry->options().bytes;
  }
  return use;
}

void TensorTable::forget(const TensorEntry& entry) {
  const MutexLock lock(mu_);
  entries_.erase(entry.id());
}

}  // namespace aqua::tensor
