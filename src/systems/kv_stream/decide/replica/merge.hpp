// SPDX-License-Identifier: Apache-2.0
// packs_to_merge() says which packs are written anew, together in one: those of which little is
// needed any more, or which were small from the first. Packs are merged when there are `fan` of
// about one size, so that a token is written again only as often as its pack's size can be
// multiplied by `fan` before the pack is full. Where room is short, the smallest are merged at
// once.
//
// Threads: a plain function, deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "systems/kv_stream/decide/replica/replica_book.hpp"

namespace aqua::kv_stream {

// `capacity`: tokens of a full pack. Packs that are at least half full are left alone, and so are
// those of which nothing can be moved (no tokens). What is named, two packs or more, fits one
// together. None: there is nothing to merge. Before: fan is 2 or more.
[[nodiscard]] std::vector<PackId> packs_to_merge(const std::vector<PackLoad>& packs,
                                                 std::uint64_t capacity, unsigned fan);
// As many of the smallest as fit one pack. None: no two do.
[[nodiscard]] std::vector<PackId> packs_to_merge_now(const std::vector<PackLoad>& packs,
                                                     std::uint64_t capacity);

}  // namespace aqua::kv_stream
