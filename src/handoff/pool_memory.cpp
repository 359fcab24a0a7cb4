// SPDX-License-Identifier: Apache-2.0
#include "handoff/pool_memory.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "aqua/published_memory.hpp"
#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "parcel/pool_shape.hpp"

namespace aqua {
namespace {

constexpr std::chrono::seconds kPatience{5};  // with another member that makes the pool

template <typename... What>
Error bad(const What&... what) {
  return Error{Code::invalid_argument, concat("pool: ", what...)};
}

struct Joined {
  bool make = false;
  std::uint32_t slabs = 0;
  UniqueFd wake;
};

Result<Joined> join(PoolClient& keeper, const pool_wire::JoinPool& asked) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    AQUA_ASSIGN(auto answer, keeper.call(asked));
    if (answer.fds.size() != 1)
      return bad("the keeper's answer has ", answer.fds.size(), " events");
    if (!answer.reply.later) {
      return Joined{answer.reply.make, answer.reply.slabs, std::move(answer.fds.front())};
    }
    AQUA_ASSIGN(const bool made, keeper.wait_for(answer.fds.front().get(), deadline));
    if (made) continue;
    return Error{Code::unavailable, concat("pool: '", asked.pool, "' is still being made")};
  }
}

// New memory, which is the keeper's then.
Result<std::uint32_t> make(Runtime& runtime, PoolClient& keeper, const KvPoolOptions& options) {
  const std::size_t all = pool_bytes(options.shape);
  std::vector<std::size_t> sizes;
  for (std::size_t done = 0; done < all; done += sizes.back()) {
    sizes.push_back(std::min(options.slab_bytes, all - done));
  }
  step("make");
  AQUA_ASSIGN(const SharedMemory memory, SharedMemory::create(runtime, sizes));
  const auto slabs = memory.descriptors();
  for (std::size_t i = 0; i < slabs.size(); i += keeper_wire::kMaxDescriptors) {
    pool_wire::AddSlabs asked;
    std::vector<int> fds;
    for (std::size_t k = i; k < std::min(slabs.size(), i + keeper_wire::kMaxDescriptors); ++k) {
      asked.bytes.push_back(slabs[k].bytes);
      fds.push_back(slabs[k].descriptor);
    }
    AQUA_TRY(keeper.call(asked, fds));
  }
  return static_cast<std::uint32_t>(slabs.size());
}

Result<SharedMemory> map(Runtime& runtime, PoolClient& keeper, std::uint32_t slabs,
                         std::size_t bytes) {
  std::vector<UniqueFd> fds;
  std::vector<SlabDescriptor> descriptors;
  std::size_t sum = 0;
  while (fds.size() < slabs) {
    AQUA_ASSIGN(auto part,
                keeper.call(pool_wire::FetchSlabs{static_cast<std::uint32_t>(fds.size())}));
    if (part.fds.empty() || part.fds.size() != part.reply.bytes.size()) {
      return bad("the keeper's answer cannot be: ", part.fds.size(), " descriptors of slabs");
    }
    for (std::size_t i = 0; i < part.fds.size(); ++i) {
      descriptors.push_back({part.fds[i].get(), part.reply.bytes[i]});
      sum += part.reply.bytes[i];
      fds.push_back(std::move(part.fds[i]));
    }
  }
  if (sum != bytes) return bad("the keeper has ", sum, " bytes of slabs, not ", bytes);
  step("map");
  return SharedMemory::open(runtime, descriptors);
}

}  // namespace

Result<JoinedPool> join_pool(Runtime& runtime, const KvPoolOptions& options) {
  const std::size_t bytes = pool_bytes(options.shape);
  AQUA_ASSIGN(const DeviceUuid device, parse_id<DeviceTag>(PublishedMemory::device_of(runtime)));
  AQUA_ASSIGN(PoolClient keeper, PoolClient::connect(options.keeper));
  step("join");
  AQUA_ASSIGN(Joined joined, join(keeper, {.pool = options.name,
                                           .role = options.role,
                                           .device = device,
                                           .shape = text_of(options.shape),
                                           .blocks = options.shape.blocks,
                                           .block_tokens = options.shape.tokens_per_block,
                                           .bytes = bytes,
                                           .quota = options.quota_blocks}));
  if (joined.make) {
    AQUA_ASSIGN(joined.slabs, make(runtime, keeper, options));
  }
  auto memory = map(runtime, keeper, joined.slabs, bytes);
  if (!memory.ok()) {
    (void)keeper.call(
        pool_wire::Leave{});  // a connection that only closes would leave a member behind
    return std::move(memory).error();
  }
  return JoinedPool{std::move(keeper), std::move(joined.wake), std::move(memory).value()};
}

}  // namespace aqua
