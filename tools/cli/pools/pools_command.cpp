// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/pools/pools_command.hpp"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "aqua/handoff/pools.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/action.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAbout = R"(Usage: aqua pools [list] [options]
       aqua pools cancel --pool NAME --id ID [options]
       aqua pools release --pool NAME [options]
       aqua pools quota --pool NAME --from ROLE --to ROLE --slabs N [options]
       aqua pools remove --pool NAME [options]

The KV pools that the keeper of this server has: their blocks, and the parcels that nobody has
taken. Cancels a parcel that nobody has taken, closed or open, of a request that nobody wants
answered any more. Releases the blocks that were quarantined since work of dead members may still
write them: once the device has been idle since. Moves the blocks of so many slabs from the quota of
one role to that of another, and takes nothing from anybody. Removes a pool of which nobody is a
member, with what waits in it. (docs/operate/keeper.md))";

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("pools: ", what)};
}

Json to_json(const PoolStatus& pool) {
  Json quotas = Json::array();
  for (const RoleQuota& quota : pool.quotas) {
    quotas.push_back({{"role", quota.role}, {"blocks", quota.blocks}, {"had", quota.had}});
  }
  return {{"pool", pool.pool},       {"device", pool.device},     {"shape", pool.shape},
          {"members", pool.members}, {"bytes", pool.bytes},       {"blocks", pool.blocks},
          {"free", pool.free},       {"owned", pool.owned},       {"offered", pool.offered},
          {"shared", pool.shared},   {"orphaned", pool.orphaned}, {"quarantined", pool.quarantined},
          {"waiting", pool.waiting}, {"ended", pool.ended},       {"quotas", quotas}};
}

Result<std::string> list(const PoolsCommand& command) {
  AQUA_ASSIGN(const auto pools, list_pools(command.keeper));
  if (command.json) {
    Json all = Json::array();
    for (const PoolStatus& pool : pools) all.push_back(to_json(pool));
    return Json{{"pools", all}}.dump(2) + "\n";
  }
  if (pools.empty()) return std::string("the keeper has no pools\n");
  std::ostringstream out;
  const auto row = [&](const auto& name, const auto&... counts) {
    out << std::left << std::setw(24) << name << std::right;
    ((out << ' ' << std::setw(8) << counts), ...);
    out << '\n';
  };
  row("pool", "members", "MiB", "blocks", "free", "owned", "offered", "shared", "orphaned",
      "quarantined", "waiting");
  for (const PoolStatus& pool : pools) {
    row(pool.pool, pool.members, pool.bytes >> 20, pool.blocks, pool.free, pool.owned, pool.offered,
        pool.shared, pool.orphaned, pool.quarantined, pool.waiting);
    for (const RoleQuota& quota : pool.quotas) {
      out << "  " << quota.role << " has " << quota.had << " of at most " << quota.blocks
          << " blocks\n";
    }
  }
  return out.str();
}

}  // namespace

CommandLine pools_line(PoolsCommand& command) {
  CommandLine line("pools", kAbout);
  line.text("--pool", command.pool, "NAME", "as its members name it")
      .text("--id", command.id, "ID", "of the request whose parcel nobody has taken")
      .text("--from", command.from, "ROLE", "whose quota gets less")
      .text("--to", command.to, "ROLE", "whose quota gets more")
      .number("--slabs", command.slabs, 1, 65536, "N", "of whose blocks the quota moves")
      .text("--keeper", command.keeper, "PATH",
            "its socket; else $AQUA_KEEPER, else keeper.sock where aqua-keeper puts it")
      .flag("--json", command.json, "for scripts");
  return line;
}

Result<PoolsCommand> parse_pools(std::span<const std::string_view> arguments) {
  PoolsCommand command;
  auto action = take_action<PoolsAction>(arguments, {{"list", PoolsAction::list},
                                                     {"cancel", PoolsAction::cancel},
                                                     {"release", PoolsAction::release},
                                                     {"quota", PoolsAction::quota},
                                                     {"remove", PoolsAction::remove}});
  if (!action.ok()) return bad(action.error().message);
  command.action = *action;
  AQUA_TRY(pools_line(command).parse(arguments));
  if (command.action != PoolsAction::list && command.pool.empty()) return bad("this needs --pool");
  if (command.action == PoolsAction::cancel && command.id.empty()) return bad("this needs --id");
  if (command.action == PoolsAction::quota &&
      (command.from.empty() || command.to.empty() || command.slabs == 0)) {
    return bad("this needs --from, --to and --slabs");
  }
  return command;
}

Result<std::string> run_pools(const PoolsCommand& command) {
  switch (command.action) {
    case PoolsAction::list:
      return list(command);
    case PoolsAction::cancel:
      AQUA_TRY(cancel_parcel(command.pool, command.id, command.keeper));
      if (command.json) {
        return Json{{"pool", command.pool}, {"cancelled", command.id}}.dump(2) + "\n";
      }
      return concat(command.id, " is cancelled; if it was closed, its blocks are free\n");
    case PoolsAction::release:
      AQUA_TRY(release_quarantined(command.pool, command.keeper));
      if (command.json) return Json{{"released", command.pool}}.dump(2) + "\n";
      return concat("what was quarantined of ", command.pool, " is free\n");
    case PoolsAction::quota:
      AQUA_TRY(move_quota(command.pool, command.from, command.to, command.slabs, command.keeper));
      if (command.json) {
        return Json{{"pool", command.pool},
                    {"from", command.from},
                    {"to", command.to},
                    {"slabs", command.slabs}}
                   .dump(2) +
               "\n";
      }
      return concat(command.to, " may have the blocks of ", command.slabs, " slabs that ",
                    command.from, " might have\n");
    case PoolsAction::remove:
      AQUA_TRY(remove_pool(command.pool, command.keeper));
      if (command.json) return Json{{"removed", command.pool}}.dump(2) + "\n";
      return concat(command.pool, " is removed\n");
  }
  return Error{Code::internal, "no such action"};
}

}  // namespace aqua::tool
