// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/pools/pools_command.hpp"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "aqua/handoff/pools.hpp"
#include "aqua/northbound/metrics_text.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/action.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAbout = R"(Usage: aqua pools [list] [options]
       aqua pools parcels [--pool NAME] [options]
       aqua pools cancel --pool NAME --id ID [options]
       aqua pools release --pool NAME [options]
       aqua pools quota --pool NAME --from ROLE --to ROLE --slabs N [options]
       aqua pools remove --pool NAME [options]

The KV pools that the keeper of this server has: their blocks, and how many parcels nobody has
taken. Lists parcels that have not ended, the oldest first: how old each is, whose it is, and the id
to cancel it by. One that stays open or reserved has a giver that does nothing, or no room. Cancels
a parcel that nobody has taken, closed or open, of a request that nobody wants answered any more.
Releases the blocks that were quarantined since work of dead members may still write them: once the
device has been idle since. Moves the blocks of so many slabs from the quota of one role to that of
another, and takes nothing from anybody. Removes a pool of which nobody is a member, with what waits
in it. (docs/operate/keeper.md))";

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

bool is_being_given(const ParcelStatus& parcel) {
  return parcel.state == ParcelState::reserved || parcel.state == ParcelState::open;
}

double seconds(const ParcelStatus& parcel) {
  return std::chrono::duration<double>(parcel.age).count();
}

// For a textfile collector: a keeper answers nobody over the network.
Result<std::string> metrics_of(const std::vector<PoolStatus>& pools, const std::string& keeper) {
  std::map<std::string, double> given, complete, oldest;
  for (const PoolStatus& pool : pools) {
    given[pool.pool] = complete[pool.pool] = oldest[pool.pool] = 0;
    const auto parcels = list_parcels(pool.pool, keeper);
    if (!parcels.ok() && parcels.error().code == Code::not_found) continue;  // it has just ended
    if (!parcels.ok()) return parcels.error();
    for (const ParcelStatus& parcel : *parcels) {
      (is_being_given(parcel) ? given : complete)[pool.pool] += 1;
      if (is_being_given(parcel)) oldest[pool.pool] = std::max(oldest[pool.pool], seconds(parcel));
    }
  }
  MetricsText text;
  const auto write = [&](const char* name, const std::map<std::string, double>& of_pools) {
    text.type(name, "gauge");
    for (const auto& [pool, value] : of_pools) text.sample("pool", pool, value);
  };
  write("aqua_keeper_parcels_being_given", given);
  write("aqua_keeper_parcels_complete", complete);
  write("aqua_keeper_oldest_being_given_seconds", oldest);
  return std::move(text).text();
}

Result<std::string> parcels_of(const PoolsCommand& command) {
  std::vector<std::string> names{command.pool};
  if (command.pool.empty()) {
    AQUA_ASSIGN(const auto pools, list_pools(command.keeper));
    names.clear();
    for (const PoolStatus& pool : pools) names.push_back(pool.pool);
  }
  Json all = Json::array();
  std::ostringstream out;
  for (const std::string& name : names) {
    const auto parcels = list_parcels(name, command.keeper);
    const bool ended = !parcels.ok() && parcels.error().code == Code::not_found;
    if (ended && command.pool.empty()) continue;  // since it was listed
    if (!parcels.ok()) return parcels.error();
    for (const ParcelStatus& parcel : *parcels) {
      all.push_back({{"pool", name},
                     {"number", parcel.number},
                     {"id", parcel.id},
                     {"turn", parcel.turn},
                     {"state", to_string(parcel.state)},
                     {"seconds", seconds(parcel)},
                     {"from", parcel.from},
                     {"to", parcel.to},
                     {"giver_pid", parcel.giver_pid},
                     {"taker_pid", parcel.taker_pid},
                     {"tokens", parcel.tokens}});
      const auto process = [](std::int64_t pid) {
        return pid == 0 ? std::string() : concat(" (process ", pid, ')');
      };
      out << name << ": " << to_string(parcel.state) << " for "
          << std::chrono::duration_cast<std::chrono::seconds>(parcel.age).count() << " s, from "
          << parcel.from << process(parcel.giver_pid) << " to " << parcel.to
          << process(parcel.taker_pid) << ", turn " << parcel.turn << ", '" << parcel.id << "'\n";
    }
  }
  if (command.json) return Json{{"parcels", all}}.dump(2) + "\n";
  return all.empty() ? std::string("no parcels\n") : out.str();
}

Result<std::string> list(const PoolsCommand& command) {
  AQUA_ASSIGN(const auto pools, list_pools(command.keeper));
  if (command.metrics) return metrics_of(pools, command.keeper);
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
      .flag("--json", command.json, "for scripts")
      .flag("--metrics", command.metrics,
            "of list: in Prometheus' text format, for a file that it reads");
  return line;
}

Result<PoolsCommand> parse_pools(std::span<const std::string_view> arguments) {
  PoolsCommand command;
  auto action = take_action<PoolsAction>(arguments, {{"list", PoolsAction::list},
                                                     {"parcels", PoolsAction::parcels},
                                                     {"cancel", PoolsAction::cancel},
                                                     {"release", PoolsAction::release},
                                                     {"quota", PoolsAction::quota},
                                                     {"remove", PoolsAction::remove}});
  if (!action.ok()) return bad(action.error().message);
  command.action = *action;
  AQUA_TRY(pools_line(command).parse(arguments));
  const bool lists = command.action == PoolsAction::list || command.action == PoolsAction::parcels;
  if (!lists && command.pool.empty()) return bad("this needs --pool");
  if (command.metrics && (command.json || command.action != PoolsAction::list))
    return bad("--metrics goes with list alone, and without --json");
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
    case PoolsAction::parcels:
      return parcels_of(command);
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
