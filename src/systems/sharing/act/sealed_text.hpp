// SPDX-License-Identifier: Apache-2.0
// A text in a memfd that nobody can change any more: how a manifest changes process.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua::sharing {

// resource_exhausted: no descriptor or memory left.
[[nodiscard]] Result<UniqueFd> seal_text(std::string_view text);
// invalid_argument: it is no memfd that is sealed, or is longer than `most` bytes.
[[nodiscard]] Result<std::string> read_sealed_text(int fd, std::size_t most);

}  // namespace aqua::sharing
