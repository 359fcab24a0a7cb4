// SPDX-License-Identifier: Apache-2.0
// Where a parcel's tail is in doubt (Parcel::tail_in_doubt), work of a dead process may still write
// behind its tokens. Whoever goes on with it does so in blocks of its own, into which it has copied
// what is in those.
//
// Threads: free functions; concurrent calls are fine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aqua/handoff/parcel.hpp"
#include "aqua/layout.hpp"

namespace aqua::prefill_decode {

// How many of the parcel's last blocks are not to be written: none, or the partly filled one and
// those behind it.
[[nodiscard]] std::size_t blocks_in_doubt(const Parcel& parcel, std::uint32_t tokens_per_block);

// The parcel's blocks, with `own` in place of the last ones, whole blocks copied by this thread.
// Only tokens are sure to be right in them. `layout` is of memory that host threads reach.
[[nodiscard]] std::vector<std::uint32_t> with_own_tail(const Layout& layout, const Parcel& parcel,
                                                       const std::vector<std::uint32_t>& own);

}  // namespace aqua::prefill_decode
