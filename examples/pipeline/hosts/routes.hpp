// SPDX-License-Identifier: Apache-2.0
// What the couriers of hosts are to do: what prefill streams to ranks of decode on other hosts they
// carry, and what a keeper keeps is mirrored to the next host's.
//
// Threads: functions of their arguments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "options.hpp"
#include "play/workload.hpp"

namespace aqua::pipeline {

// On which host each rank is, by stage, then by rank; and which hosts are lost.
struct Placement {
  std::vector<unsigned> prefill{}, decode{};  // empty: there is one pipeline
  std::vector<bool> lost{};
  // The first behind it that is not lost; the host itself, where there is no other.
  [[nodiscard]] unsigned next(unsigned host) const;
};

// As the host's certificate names it.
[[nodiscard]] std::string certificate_of(unsigned host);
// The courier's file of that host. Certificates lie in the host's folder, beside its keeper.
[[nodiscard]] nlohmann::json courier_file(const Options& options, const Placement& placement,
                                          unsigned host, const std::filesystem::path& folder);
// The KV of these prompts that each host has to send to others, at least: all ranks of a stage are
// on one host.
[[nodiscard]] std::vector<std::uint64_t> kv_to_send(const Options& options,
                                                    const Placement& placement,
                                                    const std::vector<Request>& requests);

}  // namespace aqua::pipeline
