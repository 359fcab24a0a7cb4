// SPDX-License-Identifier: Apache-2.0
#include "hosts/hosts.hpp"

#include "aqua/handoff/pools.hpp"
#include "daemon_program.hpp"
#include "must.hpp"

namespace aqua::pipeline {
namespace {

// The id of the parcels of a sequence between two ranks (docs/engine/streams.md).
std::string parcel_of(Word sequence, std::size_t from, std::size_t to) {
  return "sequence " + std::to_string(sequence) + " from " + kPrefill + "." + std::to_string(from) +
         " to " + kDecode + "." + std::to_string(to);
}

}  // namespace

Hosts::Hosts(const Options& options, const std::filesystem::path& directory)
    : options_(options), bridge_(directory) {
  for (unsigned i = 0; i < options.hosts; ++i) {
    const Host& host = hosts_.emplace_back(options_, i, directory / "hosts" / host_name(i));
    bridge_.attach(i, host.first());
  }
  for (Host& host : hosts_) host.begin_etcd();
  for (Host& host : hosts_) host.await_etcd();
  for (Host& host : hosts_) host.begin_coordinator_and_keeper();
  placement_.lost.assign(options.hosts, false);
  if (options.prefill) {
    placement_.prefill = places_of(kPrefill, *options.prefill);
    placement_.decode = places_of(kDecode, *options.decode);
  }
  begun_ = placement_;
  for (unsigned i = 0; i < hosts_.size(); ++i)
    hosts_[i].begin_courier(courier_file(options_, placement_, i, hosts_[i].folder()));
}

unsigned Hosts::first_host(const std::string& pipeline) const {
  return pipeline == kDecode ? options_.prefill->stages % options_.hosts : 0;
}

std::vector<unsigned> Hosts::places_of(const std::string& pipeline,
                                       const PipelineShape& shape) const {
  std::vector<unsigned> hosts;
  for (unsigned i = 0; i < shape.processes(); ++i)
    hosts.push_back((first_host(pipeline) + i / shape.ranks) % options_.hosts);
  return hosts;
}

unsigned Hosts::host_for(const std::string& pipeline, const std::optional<Place>& place) const {
  if (!place) return placement_.next(last_lost_.value_or(first_host(pipeline)));
  const unsigned host = (first_host(pipeline) + place->stage) % options_.hosts;
  return placement_.lost[host] ? placement_.next(host) : host;
}

void Hosts::seated(const std::string& pipeline, const std::vector<unsigned>& on) {
  if (pipeline == kPrefill) placement_.prefill = on;
  if (pipeline == kDecode) placement_.decode = on;
  bool changed = false;
  for (unsigned i = 0; i < hosts_.size(); ++i) {
    if (placement_.lost[i]) continue;
    const auto file = courier_file(options_, placement_, i, hosts_[i].folder());
    if (file == hosts_[i].courier_file()) continue;
    hosts_[i].begin_courier(file);
    changed = true;
  }
  if (changed) ++ways_lost_;
}

void Hosts::cut_off(unsigned host) {
  bridge_.cut(host);
  placement_.lost.at(host) = true;
  last_lost_ = host;
}

void Hosts::lose(unsigned host) {
  cut_off(host);
  hosts_.at(host).lose();
}

void Hosts::replace_courier(unsigned host) {
  if (!placement_.lost.at(host)) hosts_[host].begin_courier(hosts_[host].courier_file());
}

void Hosts::give_up_parcels(const std::vector<Request>& requests) const {
  for (std::size_t to = 0; to < placement_.decode.size(); ++to) {
    if (!placement_.lost[begun_.decode[to]]) continue;
    for (const auto& folder : alive()) {
      for (std::size_t from = 0; from < placement_.prefill.size(); ++from) {
        for (const Request& request : requests) {
          const auto given_up = cancel_parcel(kStreams, parcel_of(request.sequence, from, to),
                                              example::keeper_socket(folder));
          if (given_up.ok() || given_up.error().code == Code::not_found) continue;
          // A taker or a courier has it then. Leftovers tells later whether it stays.
          if (given_up.error().code != Code::failed_precondition)
            throw example::failure("cancel_parcel", given_up.error());
        }
      }
    }
  }
}

std::vector<std::filesystem::path> Hosts::alive() const {
  std::vector<std::filesystem::path> folders;
  for (unsigned i = 0; i < hosts_.size(); ++i) {
    if (!placement_.lost[i]) folders.push_back(hosts_[i].folder());
  }
  return folders;
}

std::vector<HostTraffic> Hosts::traffic(const std::vector<Request>& requests) {
  const auto kv = kv_to_send(options_, begun_, requests);
  std::vector<HostTraffic> all;
  for (unsigned i = 0; i < hosts_.size(); ++i) {
    const Bridge::Counters counters = bridge_.counters(i);
    all.push_back({hosts_[i].name(), placement_.lost[i], counters.sent, counters.received,
                   hosts_[i].carriers(), kv[i]});
  }
  return all;
}

}  // namespace aqua::pipeline
