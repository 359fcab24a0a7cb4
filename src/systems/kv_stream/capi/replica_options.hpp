// SPDX-License-Identifier: Apache-2.0
// What C says of replicas, as C++ has it. invalid_argument: a struct or a list that cannot be; what
// they say is not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aqua/c/replica_reader.h"
#include "aqua/c/replicator.h"
#include "aqua/kv_stream/replica_reader.hpp"
#include "aqua/kv_stream/replicator.hpp"

namespace aqua::capi {

[[nodiscard]] Result<kv_stream::ReplicatorOptions> to_options(
    const aqua_replicator_options* options);
[[nodiscard]] Result<kv_stream::ReplicaReaderOptions> to_options(
    const aqua_replica_reader_options* options);
// They point into what C gave.
[[nodiscard]] Result<std::vector<kv_stream::WrittenTokens>> to_written(
    const char* what, const Layout& layout, const aqua_written_tokens* const* written,
    std::size_t count);
// No more than a sequence can have, so that none is read of a length that cannot be.
[[nodiscard]] Result<std::span<const std::uint32_t>> to_ids(const char* what,
                                                            const std::uint32_t* ids,
                                                            std::size_t count);

}  // namespace aqua::capi
