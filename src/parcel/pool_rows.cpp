// SPDX-License-Identifier: Apache-2.0
// Rows of pools and of their parcels, for people.

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/try.hpp"
#include "parcel/parcel_json.hpp"

namespace aqua {

const char* to_string(ParcelState state) noexcept {
  switch (state) {
    case ParcelState::reserved:
      return "reserved";
    case ParcelState::open:
      return "open";
    case ParcelState::closed:
      return "closed";
    case ParcelState::taken:
      return "taken";
    case ParcelState::confirmed:
      return "confirmed";
  }
  return "";
}

}  // namespace aqua

namespace aqua::pool_wire {
namespace {

using Json = nlohmann::json;

constexpr std::array kStates{ParcelState::reserved, ParcelState::open, ParcelState::closed,
                             ParcelState::taken, ParcelState::confirmed};

ParcelState read_state(JsonObject& object) {
  const std::string name = object.text("state");
  const auto* const known =
      std::ranges::find_if(kStates, [&](ParcelState state) { return name == to_string(state); });
  if (known != kStates.end()) return *known;
  object.fail(concat("no state '", name.substr(0, 40), "'"));
  return ParcelState::reserved;
}

std::vector<RoleQuota> read_quotas(JsonObject& object) {
  std::vector<RoleQuota> quotas;
  const Json* list = object.take("quotas");
  if (list == nullptr) return quotas;
  const auto is_count = [](const Json& json) {
    return json.is_number_unsigned() && json.get<std::uint64_t>() <= kMostCount;
  };
  bool good = list->is_array() && list->size() % 3 == 0;
  for (std::size_t i = 0; good && i < list->size(); i += 3) {
    const Json &role = (*list)[i], &blocks = (*list)[i + 1], &had = (*list)[i + 2];
    good = role.is_string() && is_count(blocks) && is_count(had);
    if (!good) break;
    quotas.push_back({.role = role.get<std::string>(),
                      .blocks = blocks.get<std::uint32_t>(),
                      .had = had.get<std::uint32_t>()});
  }
  if (!good) object.fail("quotas is not a list of role, blocks and had");
  return quotas;
}

}  // namespace

Json json_of(const PoolStatus& row) {
  Json quotas = Json::array();  // role, blocks and had of each: one level less than objects
  for (const RoleQuota& quota : row.quotas) {
    quotas.push_back(quota.role);
    quotas.push_back(quota.blocks);
    quotas.push_back(quota.had);
  }
  return {{"pool", row.pool},       {"device", row.device},     {"shape", row.shape},
          {"members", row.members}, {"bytes", row.bytes},       {"blocks", row.blocks},
          {"free", row.free},       {"owned", row.owned},       {"offered", row.offered},
          {"shared", row.shared},   {"orphaned", row.orphaned}, {"quarantined", row.quarantined},
          {"waiting", row.waiting}, {"ended", row.ended},       {"quotas", quotas}};
}
Json json_of(const ParcelStatus& row) {
  return {{"number", row.number},       {"id", row.id},
          {"turn", row.turn},           {"state", to_string(row.state)},
          {"from", row.from},           {"to", row.to},
          {"giver_pid", row.giver_pid}, {"taker_pid", row.taker_pid},
          {"tokens", row.tokens},       {"age_ms", row.age.count()}};
}

Result<PoolStatus> read_pool_row(const Json& json) {
  JsonObject object(json, "keeper: pools");
  PoolStatus row{.pool = object.text("pool"), .device = object.text("device")};
  row.shape = object.text("shape");
  row.members = object.count("members", 0, kMostCount);
  if (const Json* bytes = object.take("bytes")) row.bytes = read_bytes(object, *bytes);
  row.blocks = object.count("blocks", 0, kMostCount);
  row.free = object.count("free", 0, kMostCount);
  row.owned = object.count("owned", 0, kMostCount);
  row.offered = object.count("offered", 0, kMostCount);
  row.shared = object.count("shared", 0, kMostCount);
  row.orphaned = object.count("orphaned", 0, kMostCount);
  row.quarantined = object.count("quarantined", 0, kMostCount);
  row.waiting = object.count("waiting", 0, kMostCount);
  row.ended = object.count("ended", 0, kMostCount);
  row.quotas = read_quotas(object);
  AQUA_TRY(object.finish());
  return row;
}

Result<ParcelStatus> read_parcel_row(const Json& json) {
  JsonObject object(json, "keeper: listed");
  ParcelStatus row{.number = read_number(object, "number"), .id = object.text("id")};
  row.turn = read_number(object, "turn");
  row.state = read_state(object);
  row.from = object.text("from");
  row.to = object.text("to");
  row.giver_pid = static_cast<std::int64_t>(read_number(object, "giver_pid"));
  row.taker_pid = static_cast<std::int64_t>(read_number(object, "taker_pid"));
  row.tokens = object.count("tokens", 0, kMostCount);
  row.age = std::chrono::milliseconds(read_number(object, "age_ms"));
  AQUA_TRY(object.finish());
  return row;
}

}  // namespace aqua::pool_wire
