// SPDX-License-Identifier: Apache-2.0
// A range as C names it.
#pragma once

#include "aqua/c/layout.h"
#include "aqua/kv_range.hpp"
#include "base/try.hpp"
#include "capi/sized.hpp"

namespace aqua::capi {

static_assert(AQUA_TO_THE_END == kToTheEnd);

[[nodiscard]] inline Result<KvRange> to_range(const char* what, const aqua_kv_range* range) {
  AQUA_ASSIGN(const auto given, take_in(what, range, aqua_kv_range AQUA_KV_RANGE_INIT));
  return KvRange{{given.first_layer, given.layer_count},
                 {given.first_token, given.token_count},
                 {given.first_head, given.head_count}};
}

}  // namespace aqua::capi
