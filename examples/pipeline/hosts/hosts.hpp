// SPDX-License-Identifier: Apache-2.0
// Hosts are several hosts on one machine, wired by one bridge, on which pipelines are placed:
// stages take turns, prefill's first stage on the first host, decode's where prefill's have ended.
// Who stands by is on the host behind that of the first stage, which has copies of what that one's
// keeper has; after a loss new processes are on the host behind the lost one.
//
// Threads: one, which lives as long as it. Errors: Failure.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hosts/bridge.hpp"
#include "hosts/host.hpp"
#include "hosts/routes.hpp"
#include "options.hpp"

namespace aqua::pipeline {

// What went over one host's link to the others.
struct HostTraffic {
  std::string name{};
  bool lost = false;
  std::uint64_t sent = 0, received = 0;  // bytes, by its counters
  Host::Carriers carriers{};
  std::uint64_t kv_to_send = 0;  // what of the prompts' KV has to go to others, at least
};

class Hosts {
 public:
  // Returns once all daemons listen. Folders of hosts are made in `directory`.
  Hosts(const Options& options, const std::filesystem::path& directory);

  // Where the coordinators' etcd is asked.
  [[nodiscard]] std::string etcd() const { return etcd_clients(options_.hosts); }
  // For a process of that pipeline, at that place or standing by.
  [[nodiscard]] unsigned host_for(const std::string& pipeline,
                                  const std::optional<Place>& place) const;
  [[nodiscard]] const Host& at(unsigned host) const { return hosts_.at(host); }
  // Each rank of the pipeline is on these hosts. Couriers to whom that is news are started anew.
  void seated(const std::string& pipeline, const std::vector<unsigned>& on);
  // It is lost to the others from then on: its link is cut.
  void cut_off(unsigned host);
  // Likewise, and all that runs on it ends.
  void lose(unsigned host);
  [[nodiscard]] bool is_lost(unsigned host) const { return placement_.lost.at(host); }
  // Kills its courier, and starts another one.
  void replace_courier(unsigned host);
  // How often what was on its way to a host may have been lost, and new ways were there afterwards.
  [[nodiscard]] unsigned ways_lost() const { return ways_lost_; }
  // Ends what waits for a lost host at others: of these prompts, all of which have been taken.
  void give_up_parcels(const std::vector<Request>& requests) const;

  // Folders of those that are not lost.
  [[nodiscard]] std::vector<std::filesystem::path> alive() const;
  [[nodiscard]] std::vector<HostTraffic> traffic(const std::vector<Request>& requests);

 private:
  [[nodiscard]] unsigned first_host(const std::string& pipeline) const;
  [[nodiscard]] std::vector<unsigned> places_of(const std::string& pipeline,
                                                const PipelineShape& shape) const;

  const Options options_;
  Bridge bridge_;
  std::deque<Host> hosts_{};
  Placement begun_{}, placement_{};  // as it was at first, and is
  std::optional<unsigned> last_lost_{};
  unsigned ways_lost_ = 0;
};

}  // namespace aqua::pipeline
