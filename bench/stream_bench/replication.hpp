// SPDX-License-Identifier: Apache-2.0
// What replication costs generation (DéjàVu, 5.1: 2 %): steps of a stage that decodes 16 sequences,
// with a Replicator behind the kernel over the same steps without one, in alternation. The kernel
// waits for as long as a GPU's would compute, so that the emulated GPU's copies, which processors
// make, take nothing from it that a copy engine would not.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace aqua::bench {

// `keeper` is the daemon's socket.
[[nodiscard]] nlohmann::json measure_replication(const std::string& keeper, unsigned rounds);
// With couriers that bring all of it to another keeper: also for how long that goes on afterwards.
[[nodiscard]] nlohmann::json measure_mirrored(const std::string& keeper_binary,
                                              const std::string& courier_binary,
                                              const std::string& certificates, unsigned rounds);

}  // namespace aqua::bench
