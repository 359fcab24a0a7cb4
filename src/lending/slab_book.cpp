// SPDX-License-Identifier: Apache-2.0
#include "lending/slab_book.hpp"

#include <cassert>
#include <set>
#include <string_view>

#include "base/concat.hpp"

namespace aqua::lending {

SlabStatus SlabBook::add(std::size_t bytes) {
  SlabStatus slab;
  slab.index = next_index_++;
  slab.bytes = bytes;
  slab.secret = random_id<LeaseTag>();
  return slabs_.emplace(slab.index, slab).first->second;
}

// A holder may fetch again what it holds: its first reply may have been lost.
std::optional<Code> SlabBook::refusal(const ClientId& client, const FetchEntry& entry) const {
  const SlabStatus* slab = find(entry.index);
  if (slab == nullptr) return Code::not_found;
  if (slab->generation != entry.generation || slab->custody == Custody::scrubbing)
    return Code::aborted;
  if (!same_secret(slab->secret, entry.secret)) return Code::permission_denied;
  if (slab->custody == Custody::held && slab->holder != client) return Code::failed_precondition;
  return std::nullopt;
}

// Grants all entries or none. Of those refused only for the others' sake the code is `aborted`.
std::vector<ReplyEntry> SlabBook::fetch(const ClientId& client,
                                        std::span<const FetchEntry> entries) {
  std::vector<ReplyEntry> replies(entries.size());
  bool all_granted = true;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (const auto code = refusal(client, entries[i])) {
      replies[i].code = to_reply_code(*code);
      all_granted = false;
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!all_granted) {
      if (replies[i].code == 0) replies[i].code = to_reply_code(Code::aborted);
      continue;
    }
    SlabStatus& slab = slabs_.at(entries[i].index);
    slab.custody = Custody::held;
    slab.holder = client;
    replies[i].bytes = slab.bytes;
  }
  return replies;
}

Result<void> SlabBook::give_back(const ClientId& client, std::uint32_t index,
                                 std::uint64_t generation) {
  const auto found = slabs_.find(index);
  if (found == slabs_.end()) return Error{Code::not_found, concat("give_back: no slab ", index)};
  SlabStatus& slab = found->second;
  if (slab.generation != generation || slab.custody == Custody::scrubbing) {
    return Error{Code::aborted,
                 concat("give_back: slab ", index, " generation ", generation, ", now ",
                        slab.generation, slab.custody == Custody::scrubbing ? " ending" : "")};
  }
  if (slab.holder != client) {
    return Error{Code::permission_denied,
                 concat("give_back: slab ", index, " is not held by the caller")};
  }
  slab.custody = Custody::scrubbing;
  slab.holder.reset();
  return {};
}

bool SlabBook::grant_ended(std::uint32_t index, std::uint64_t generation, GrantEnd how) {
  const auto found = slabs_.find(index);
  if (found == slabs_.end() || found->second.generation != generation) return false;
  if (found->second.custody == Custody::scrubbing) return false;
  // We hold the proof of a holder's death ourselves (holder_dead()); another's word is not enough
  // to take memory from a process that may be alive. `unknown` ends the hold as well: the memory
  // stays the holder's, and the slab gets other.
  if (found->second.custody == Custody::held && how == GrantEnd::died) return false;
  found->second.custody = Custody::scrubbing;
  found->second.holder.reset();
  return true;
}

std::vector<std::uint32_t> SlabBook::holder_dead(const ClientId& client) {
  std::vector<std::uint32_t> ended;
  for (auto& [index, slab] : slabs_) {
    if (slab.custody != Custody::held || slab.holder != client) continue;
    slab.custody = Custody::scrubbing;
    slab.holder.reset();
    ended.push_back(index);
  }
  return ended;
}

// A new generation and secret with each tenant: what was told to the last one opens nothing.
SlabStatus SlabBook::scrubbed(std::uint32_t index) {
  SlabStatus& slab = slabs_.at(index);
  assert(slab.custody == Custody::scrubbing);
  slab.custody = Custody::free;
  ++slab.generation;
  slab.secret = random_id<LeaseTag>();
  return slab;
}

void SlabBook::renew_free() {
  for (auto& [index, slab] : slabs_) {
    if (slab.custody != Custody::free) continue;
    ++slab.generation;
    slab.secret = random_id<LeaseTag>();
  }
}

Result<void> SlabBook::remove(std::span<const std::uint32_t> indexes) {
  std::set<std::uint32_t> named;
  for (const std::uint32_t index : indexes) {
    if (!named.insert(index).second) {
      return Error{Code::invalid_argument, concat("take back: slab ", index, " is named twice")};
    }
    const SlabStatus* slab = find(index);
    if (slab == nullptr) return Error{Code::not_found, concat("take back: no slab ", index)};
    if (slab->custody != Custody::free) {
      return Error{
          Code::failed_precondition,
          concat("take back: slab ", index, slab->holder ? " is held by " : " is being scrubbed",
                 slab->holder ? to_string(*slab->holder) : "")};
    }
  }
  for (const std::uint32_t index : indexes) slabs_.erase(index);
  return {};
}

const SlabStatus* SlabBook::find(std::uint32_t index) const {
  const auto found = slabs_.find(index);
  return found == slabs_.end() ? nullptr : &found->second;
}

std::vector<SlabStatus> SlabBook::all() const {
  std::vector<SlabStatus> list;
  list.reserve(slabs_.size());
  for (const auto& [index, slab] : slabs_) list.push_back(slab);
  return list;
}

}  // namespace aqua::lending
