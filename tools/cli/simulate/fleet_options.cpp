// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/fleet_options.hpp"

#include <set>
#include <string_view>
#include <vector>

#include "aqua/packing/packer.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("simulate: ", what)};
}

bool as_it_was(const FleetOptions& o) {
  const FleetOptions fresh;
  return o.engines == fresh.engines && o.engines_per_server == fresh.engines_per_server &&
         o.network_gbps == fresh.network_gbps && o.spare == fresh.spare &&
         o.boot_s == fresh.boot_s && o.linger_s == fresh.linger_s && !o.lend && !o.fixed &&
         o.epoch_s == fresh.epoch_s && o.watermark == fresh.watermark && o.moves == fresh.moves &&
         !o.free_moves && o.placements.empty();
}

}  // namespace

void add_fleet(CommandLine& line, FleetOptions& o) {
  using packing::Allowed;
  line.group("Several engines (docs/plan/packing.md)")
      .text("--pack", o.pack, "P,P...",
            "compares packers in place of schedulers: pack, mell, drain, lb, wf, bf; every engine "
            "runs fcfs")
      .number("--engines", o.engines, 1, 1000, "N", "that there are at most")
      .number("--engines-per-server", o.engines_per_server, 1, 64, "N",
              "joined by NVLink; others by the servers' network")
      .number("--network-gbps", o.network_gbps, 1e-3, 1e4, "G",
              "GB a second of a server's network, each way")
      .number("--spare", o.spare, 0, 1000, "N", "engines kept up beside those that are used")
      .number("--boot-seconds", o.boot_s, 0, 1e5, "S", "until an engine that was off serves")
      .number("--linger-seconds", o.linger_s, 0, 1e5, "S",
              "an engine that is no longer used stays up so long")
      .flag("--lend", o.lend,
            "an engine that is not used keeps its weights and lends its memory; it serves when it "
            "has that back, whatever --boot-seconds says")
      .flag("--fixed-fleet", o.fixed, "all engines are up all the time")
      .number("--epoch", o.epoch_s, 0.01, 1e4, "S", "a plan so often")
      .number("--watermark", o.watermark, 0, 0.5, "W", "share of an engine left free for growth")
      .choice("--moves", o.moves,
              {{"both", Allowed::both}, {"kv", Allowed::kv_only}, {"tokens", Allowed::tokens_only}},
              "HOW", "requests move as KV, as tokens that are computed again, or as fits")
      .flag("--free-moves", o.free_moves, "they take no time and no link: the limit")
      .text(
          "--placements", o.placements, "FILE",
          "CSV: epoch,request,gpu,tokens; of several packers a file each, .PACKER after its name");
}

Result<void> check_fleet(const FleetOptions& options) {
  if (options.pack.empty()) {
    if (as_it_was(options)) return {};
    return bad("several engines are a packer's: give --pack, or leave out what is about them");
  }
  std::vector<std::string_view> packers;
  report::split_columns(options.pack, packers);
  std::set<std::string_view> seen;
  for (const std::string_view packer : packers) {
    if (const auto made = packing::make_packer(packer, {}); !made.ok()) {
      return bad(concat("--pack: ", made.error().message));
    }
    if (!seen.insert(packer).second) return bad(concat("--pack: ", packer, " is named twice"));
  }
  if (options.lend && options.fixed) {
    return bad("--lend and --fixed-fleet: engines that are always up lend nothing");
  }
  if (options.free_moves && options.moves != FleetOptions{}.moves) {
    return bad("--moves says nothing of --free-moves");
  }
  if (options.spare > options.engines) {
    return bad(concat("--spare: ", options.spare, " of ", options.engines, " engines"));
  }
  return {};
}

}  // namespace aqua::tool
