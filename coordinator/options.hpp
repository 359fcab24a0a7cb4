// SPDX-License-Identifier: Apache-2.0
// What the daemon is told: by its command line, its environment and its configuration file, in
// this order of precedence. option_table.hpp lists the options.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "coordinator/access/peer.hpp"
#include "coordinator/common/log.hpp"
#include "coordinator/http/admission.hpp"
#include "coordinator/servers/server_directory.hpp"
#include "coordinator/service/ledger_service.hpp"
#include "coordinator/store/checkpointer.hpp"
#include "coordinator/tls/tls_identity.hpp"
#include "ledger/ledger.hpp"
#include "wire/address.hpp"

namespace aqua::coordinator {

struct Options {
  std::string data;      // directory; created where missing
  wire::Address listen;  // default: unix:<data>/coordinator.sock
  std::string lifeline;  // path of a socket; default: <data>/lifeline.sock
  bool durable = true;   // SQLite in the data directory; else memory
  LogLimits store_log;   // its; for tests, no option sets it
  Survives leases_survive = Survives::process;
  ledger::Limits limits;
  std::size_t max_watches = 512;            // long polls at one time
  mode_t socket_mode = 0600;                // of both sockets
  PeerPolicy peers;                         // may connect, besides root and our own user
  std::string tokens;                       // file of bearer tokens; default: <data>/tokens
  std::optional<wire::Address> tls_listen;  // TCP, with TLS; nullopt: none
  TlsFiles tls;                             // given when that is
  ServerOptions server;                     // among others; its name is this machine's by default
  AdmissionLimits admission;                // of requests and callers
  std::size_t max_connections = 10'000;     // that have not sent a request's head yet
  std::size_t max_process_rate = 1000;      // of a Unix socket: connections a second of a process
  std::chrono::milliseconds drain_timeout{1000};
  LogFormat log_format = LogFormat::text;
  std::string log_level = "info";  // trace, debug, info, warn, error, off

  std::string config;         // path of the file; "" for none
  bool check_config = false;  // say what is in force, and end
  bool help = false;
  bool version = false;
  // What was set, by name, and not left at its default.
  std::map<std::string, std::vector<std::string>> settings;
};

// invalid_argument names the argument, the variable or the line, and what it should be.
[[nodiscard]] Result<Options> parse_options(std::span<const char* const> arguments);
[[nodiscard]] std::string usage();
// The settings, as a configuration file.
[[nodiscard]] std::string to_toml(const Options& options);
// Names of options that differ and do not take effect by a reload.
[[nodiscard]] std::vector<std::string> need_restart(const Options& running, const Options& wanted);

}  // namespace aqua::coordinator
