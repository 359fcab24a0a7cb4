// SPDX-License-Identifier: Apache-2.0
// Lists of a pool's blocks, as C gives them.
#pragma once

#include "aqua/layer_swap/layer_pool.hpp"
#include "capi/call.hpp"

namespace aqua::capi {

// invalid_argument for a list that is NULL and not empty, or longer than there are usable blocks:
// it names one twice, or is shorter than it says. None of it is read then.
[[nodiscard]] inline Result<BlockList> to_list(const char* what, const char* name,
                                               const LayerPool& pool, const std::uint32_t* blocks,
                                               std::size_t count) {
  if (count == 0) return BlockList{};
  if (blocks == nullptr) return null_argument(what, name);
  if (count > pool.usable_blocks()) {
    return Error{Code::invalid_argument, concat(what, ": ", count, " blocks in ", name, ", where ",
                                                pool.usable_blocks(), " are usable")};
  }
  return BlockList(blocks, count);
}

}  // namespace aqua::capi
