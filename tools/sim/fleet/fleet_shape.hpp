// SPDX-License-Identifier: Apache-2.0
// A fleet of engines that a packer rules: how it is built, and what a run of it leaves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aqua/packing/divide.hpp"
#include "aqua/packing/packer.hpp"
#include "tools/sim/engine/outcome.hpp"
#include "tools/sim/report/metrics.hpp"

namespace aqua::sim {

struct FleetShape {
  std::string packer{packing::kDefaultPacker};
  packing::PackerOptions options{};  // blocks and bytes are filled in
  unsigned engines = 64;             // that there are at most
  unsigned engines_per_server = 8;   // joined by NVLink; the others over their servers' network
  double network_bytes_per_second = 25e9;  // of a server, each way
  double epoch_s = 1;                      // a plan so often
  // An engine that is not in use is off. It takes so long from the order until it serves …
  double boot_s = 30;
  // … and so many more than are in use are kept up, or on their way. Those count as used GPU time.
  unsigned spare = 1;
  // An engine that is no longer used stays up so long before it is switched off.
  double linger_s = 60;
  // An engine that is not in use keeps its weights and lends its memory, to which the others swap
  // before they do to the host. It serves when it has all of it back: boot_s is not read.
  bool lend = false;
  bool fixed = false;  // all are up from the beginning to the end
  // How requests are moved, and what of an epoch they may take: a share of each link, and tokens
  // computed again that lengthen the iterations of others by this share.
  packing::Allowed moves = packing::Allowed::both;
  double link_share = 0.5;
  double compute_share = 0.05;
  bool free_moves = false;  // they take no time and no link: the limit
  bool keep_placements = false;
};

struct FleetSample {
  Picos at = 0;
  std::uint32_t up = 0;    // and on their way
  std::uint32_t used = 0;  // by requests
  double held_tokens = 0;  // on devices
  std::uint64_t waiting = 0, resident = 0;
  double lent_bytes = 0, borrowed_bytes = 0;
};

struct PlacementRow {
  std::uint64_t epoch = 0;
  std::uint32_t request = 0;
  std::uint32_t engine = 0;
  std::uint64_t tokens = 0;
};

struct FleetOutcome {
  RunOutcome run;  // of all engines together; without memory over time
  Metrics metrics;
  // The TPOT of requests that never moved: what moves of others cost them.
  double still_tpot_p99_s = 0;
  double gpu_hours = 0;      // of engines that were up, booting among it
  double mean_used = 0;      // engines, from a tenth of the arrivals' time to the last
  double mean_resident = 0;  // requests with KV on a device, likewise
  double utilization = 0;    // of the KV memory of those used, likewise
  std::uint64_t boots = 0;
  // By engines that were not in use, and of that what others used: in GB and hours. Means of
  // epochs.
  double lent_gb_hours = 0, borrowed_gb_hours = 0;
  std::uint64_t moves_kv = 0, moves_tokens = 0;  // done
  std::uint64_t moves_later = 0;  // put off: there was no room on a link or an engine
  double bytes_moved = 0;
  std::uint64_t preempted = 0;  // by the packer
  std::vector<FleetSample> series;
  std::vector<PlacementRow> placements;
};

}  // namespace aqua::sim
