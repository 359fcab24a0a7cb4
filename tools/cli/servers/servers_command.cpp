// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/servers/servers_command.hpp"

#include <iomanip>
#include <sstream>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/admin/operator.hpp"
#include "tools/cli/coordinator_option.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

constexpr const char* kAbout = R"(Usage: aqua servers [options]

The servers whose coordinators know each other by etcd: their clients and groups, and what is lent
on each. One is gone from here when its coordinator stops, or has been silent for --server-ttl.
(docs/operate/servers.md))";

}  // namespace

std::string servers_table(const wire::Servers& all) {
  std::ostringstream out;
  const auto row = [&](std::string_view name, std::string_view host, const auto& clients,
                       const auto& groups, std::string_view lends, std::string_view in_use,
                       std::string_view coordinator) {
    out << std::left << std::setw(20) << name << ' ' << std::setw(20) << host << std::right
        << std::setw(8) << clients << std::setw(8) << groups << std::setw(12) << lends
        << std::setw(12) << in_use;
    if (!coordinator.empty()) out << "  " << coordinator;
    out << '\n';
  };
  row("SERVER", "HOST", "CLIENTS", "GROUPS", "LENDS MiB", "IN USE MiB", "COORDINATOR");
  for (const wire::Server& server : all.servers) {
    row(server.name + (server.name == all.self ? " *" : ""), server.host, server.clients,
        server.groups, report::mib(server.lent_bytes), report::mib(server.held_bytes),
        server.coordinator);
  }
  out << "\n* this one" << (all.shared ? "" : "; it shares no etcd with others (--etcd)") << '\n';
  if (all.fault.empty()) return std::move(out).str();
  if (all.age) {
    out << "as of " << std::chrono::duration_cast<std::chrono::seconds>(*all.age).count()
        << " s ago: ";
  } else {
    out << "others have not been read since this coordinator was started: ";
  }
  out << all.fault << '\n';
  return std::move(out).str();
}

CommandLine servers_line(ServersCommand& command) {
  CommandLine line("servers", kAbout);
  add_coordinator(line, command.coordinator);
  line.flag("--json", command.json, "for scripts");
  return line;
}

Result<ServersCommand> parse_servers(std::span<const std::string_view> arguments) {
  ServersCommand command;
  AQUA_TRY(servers_line(command).parse(arguments));
  AQUA_TRY(resolve_coordinator(command.coordinator, "servers"));
  return command;
}

Result<std::string> run_servers(const ServersCommand& command) {
  AQUA_ASSIGN(const wire::Servers all, admin::fetch_servers(command.coordinator));
  return command.json ? wire::encode(all) + "\n" : servers_table(all);
}

}  // namespace aqua::tool
