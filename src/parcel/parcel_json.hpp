// SPDX-License-Identifier: Apache-2.0
// Parcels, lists of blocks and news of parcels in the keeper's packets; rows of pools and of their
// parcels, for people.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "aqua/handoff/parcel.hpp"
#include "aqua/handoff/pools.hpp"
#include "aqua/result.hpp"
#include "base/keeper/packets.hpp"
#include "parcel/block_book.hpp"
#include "parcel/parcel_book.hpp"

namespace aqua::pool_wire {

using namespace keeper_wire;

inline constexpr std::uint32_t kMostPoolBlocks = 1 << 20;
// So that a parcel, with all that is around it, goes into a packet.
inline constexpr std::size_t kMostParcelBytes = kMaxPacket - 1024;

// As runs: the first block, how many, the first of the next run, and so on.
[[nodiscard]] nlohmann::json json_of(const Blocks& blocks);
[[nodiscard]] Blocks read_blocks(JsonObject& object);  // under "blocks"
[[nodiscard]] nlohmann::json json_of(const Parcel& parcel);
[[nodiscard]] Parcel read_parcel(JsonObject& object);
[[nodiscard]] Result<Parcel> read_whole_parcel(const nlohmann::json& json);
[[nodiscard]] ParcelHead read_head(JsonObject& object);
[[nodiscard]] const char* name_of(ParcelEvent event);
[[nodiscard]] ParcelEvent read_event(JsonObject& object, const char* key);
[[nodiscard]] nlohmann::json json_of(const ParcelNews& news);
[[nodiscard]] nlohmann::json json_of(const PoolStatus& row);
[[nodiscard]] nlohmann::json json_of(const ParcelStatus& row);
[[nodiscard]] Result<PoolStatus> read_pool_row(const nlohmann::json& json);
[[nodiscard]] Result<ParcelStatus> read_parcel_row(const nlohmann::json& json);
[[nodiscard]] Result<ParcelNews> read_news(const nlohmann::json& json);

// What a parcel takes of a packet at most.
[[nodiscard]] std::size_t packet_bytes(const Parcel& parcel);
// What a piece of news does.
[[nodiscard]] std::size_t packet_bytes(const ParcelNews& news);
// invalid_argument: it is larger than kMostParcelBytes, since its blocks are many and scattered.
[[nodiscard]] Result<void> check_bytes(const Parcel& parcel);

}  // namespace aqua::pool_wire
