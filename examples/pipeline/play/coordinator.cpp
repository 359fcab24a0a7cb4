// SPDX-License-Identifier: Apache-2.0
#include "play/coordinator.hpp"

#include <vector>

#include "daemon_program.hpp"
#include "must.hpp"
#include "play/start.hpp"

namespace aqua::pipeline {
namespace {

using namespace aqua::literals;
using Clock = std::chrono::steady_clock;

// A client that has lost the coordinator looks for it again after random pauses of up to two
// seconds; what more there is, a connection takes on a busy machine.
constexpr std::chrono::milliseconds kAllAreBack{2500};

std::vector<std::string> line_of(const Options& options, const std::filesystem::path& directory,
                                 const std::string& etcd) {
  std::vector<std::string> line = role_line("--coordinator-role", directory);
  line.insert(line.end(), {"--ttl-ms", std::to_string(options.ttl_ms)});
  if (!etcd.empty()) {
    line.insert(line.end(), {"--etcd", etcd, "--server", "orchestrator", "--server-ttl-ms",
                             std::to_string(options.server_ttl_ms)});
  }
  if (!options.coordinator_program.empty())
    line.insert(line.end(), {"--coordinator-binary", options.coordinator_program});
  return line;
}

}  // namespace

Coordinator::Coordinator(const Options& options, const std::filesystem::path& directory,
                         const std::string& etcd)
    : address_(example::coordinator_address(directory)),
      daemon_("coordinator", line_of(options, directory, etcd),
              std::chrono::milliseconds(options.ttl_ms)) {
  runtime_.emplace(example::must(Runtime::open({.device = "emu:0",
                                                .coordinator = address_,
                                                .name = "orchestrator",
                                                .host_bytes = 2_MiB,
                                                .socket_directory = directory,
                                                .curve_directory = "off"}),
                                 "runtime"));
  hears_since_ = Clock::now();
}

void Coordinator::look() {
  const unsigned before = deaths() + stops();
  daemon_.look();
  if (deaths() + stops() != before) hears_since_.reset();
  if (!hears_since_ && daemon_.listens() && runtime_->status().connected)
    hears_since_ = Clock::now() + kAllAreBack;
}

}  // namespace aqua::pipeline
