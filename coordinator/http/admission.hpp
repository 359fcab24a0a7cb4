// SPDX-License-Identifier: Apache-2.0
// Which requests are turned away by their headers alone, before a byte of body is read.
#pragma once

#include <cstddef>
#include <optional>

#include "coordinator/http/refusal.hpp"
#include "coordinator/http/request_head.hpp"

namespace aqua::coordinator {

// The bytes of body that follow `head`, in `length`; or the refusal: 400, 411, 413, 415.
// Only a plain length is taken: no transfer coding, no compression, no ranges.
[[nodiscard]] std::optional<Refusal> refusal_of(const RequestHead& head, std::size_t max_body,
                                                std::size_t& length);

}  // namespace aqua::coordinator
