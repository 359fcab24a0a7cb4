// SPDX-License-Identifier: Apache-2.0
// How a process becomes a member of a KV pool: it joins, makes the memory if it is the first, and
// maps it.
//
// Threads: a free function; concurrent calls are fine.
#pragma once

#include "aqua/handoff/kv_pool.hpp"
#include "aqua/result.hpp"
#include "aqua/shared_memory.hpp"
#include "base/unique_fd.hpp"
#include "keeper_client/pool_client.hpp"

namespace aqua {

struct JoinedPool {
  PoolClient keeper;  // whose member this process is, for as long as it is connected
  UniqueFd wake;      // an eventfd that the keeper writes when there is something for the member
  SharedMemory memory;
};

// Errors: KvPool::attach()'s. The options have been checked.
[[nodiscard]] Result<JoinedPool> join_pool(Runtime& runtime, const KvPoolOptions& options);

}  // namespace aqua
