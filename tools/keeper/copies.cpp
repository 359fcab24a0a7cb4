// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/copies.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::keeper {
namespace {

template <typename... What>
Error unfit(const What&... what) {
  return Error{Code::invalid_argument, concat("keeper: ", what...)};
}

}  // namespace

std::uint64_t KeptCopy::bytes() const {
  std::uint64_t sum = 0;
  for (const KeptSlab& slab : slabs) sum += slab.bytes;
  return sum;
}

Result<void> Copies::begin(sharing::CopyId id) {
  if (copies_.size() >= room_.most()) {
    return Error{Code::resource_exhausted,
                 concat("keeper: ", copies_.size(), " copies: retire models first")};
  }
  copies_[id] = {};
  return {};
}

Result<void> Copies::add(sharing::CopyId id, std::span<const std::uint64_t> bytes,
                         std::vector<UniqueFd> fds) {
  KeptCopy& copy = copies_.at(id);
  AQUA_ASSIGN(TakenSlabs taken, take_slabs(bytes, std::move(fds), SlabWriters::nobody));
  AQUA_TRY(room_.take(taken.slabs.size()));
  std::move(taken.slabs.begin(), taken.slabs.end(), std::back_inserter(copy.slabs));
  copy.enforced = copy.enforced && taken.enforced;
  return {};
}

Result<void> Copies::set_manifest(sharing::CopyId id, std::vector<UniqueFd> fds) {
  if (fds.size() != 1) return unfit("a manifest of ", fds.size(), " descriptors");
  if (copies_.at(id).slabs.empty()) return unfit("a copy without slabs");
  AQUA_TRY(check_sealed(fds.front().get()));
  copies_.at(id).manifest = std::move(fds.front());
  return {};
}

void Copies::forget(sharing::CopyId id) {
  const auto found = copies_.find(id);
  if (found == copies_.end()) return;
  room_.close(std::move(found->second.slabs));
  copies_.erase(found);
}

}  // namespace aqua::keeper
