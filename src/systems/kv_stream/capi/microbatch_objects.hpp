// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of microbatch swaps.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "aqua/c/microbatch_swap.h"
#include "aqua/kv_stream/microbatch_swap.hpp"
#include "capi/call.hpp"
#include "capi/locked.hpp"
#include "capi/objects.hpp"

namespace aqua::capi {

struct LockedMicrobatchSwap : LockedObject {
  explicit LockedMicrobatchSwap(Layout of) : buffer(std::move(of)) {}
  const Layout buffer;  // the first one: the others differ in their addresses only
  std::optional<MicrobatchSwap> swap{};
};
struct MicrobatchSwapObject {
  RuntimeKeep runtime;
  std::unique_ptr<LockedMicrobatchSwap> locked;
};
using MicrobatchSwapTable =
    HandleTable<MicrobatchSwapObject, Kind::microbatch_swap, kChunksOfMicrobatchSwap>;

[[nodiscard]] MicrobatchSwapTable& microbatch_swaps() noexcept;

}  // namespace aqua::capi
