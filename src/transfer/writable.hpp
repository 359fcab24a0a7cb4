// SPDX-License-Identifier: Apache-2.0
// Whether a transfer may write where it is to write, asked before anything of it is queued.
#pragma once

#include <cstddef>

#include "transfer/transfer.hpp"

namespace aqua::transfer {

// permission_denied where a block that the request would write, `bytes` in all, is mapped
// read-only; one that is written in part counts whole. The request has been checked otherwise.
// Where no mapping near its planes is read-only, a look for each plane.
[[nodiscard]] Result<void> check_writable(const device::Device& device,
                                          const TransferRequest& request, std::size_t bytes);

}  // namespace aqua::transfer
