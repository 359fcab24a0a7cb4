// SPDX-License-Identifier: Apache-2.0
#include "coordinator/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "base/concat.hpp"
#include "base/own_directory.hpp"
#include "base/try.hpp"
#include "coordinator/config_file.hpp"
#include "coordinator/host.hpp"
#include "coordinator/option_table.hpp"
#include "tools/daemon/absolute_path.hpp"
#include "wire/limits.hpp"

namespace aqua::coordinator {
namespace {

// What stands on the command line, not looked at yet.
struct CommandLine {
  std::map<std::string, std::vector<std::string>> values;
  std::string config;
  bool check_config = false;
  bool help = false;
  bool version = false;
};

std::unique_ptr<CLI::App> make_app(CommandLine& line) {
  auto app = std::make_unique<CLI::App>(
      "Matches lenders and borrowers of GPU memory on this machine.\n"
      "Tokens are issued by: aqua-coordinator token issue|revoke|list (see token --help).",
      "aqua-coordinator");
  app->set_help_flag();  // ours, or it would throw
  for (const OptionSpec& spec : option_table()) {
    auto& values = line.values[spec.name];
    const std::string name = concat("--", spec.name);
    if (spec.kind == OptionKind::flag) {
      app->add_flag(name, values, spec.help)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      continue;
    }
    app->add_option(name, values, spec.help)
        ->type_name(spec.value)
        ->expected(1)
        ->multi_option_policy(spec.kind == OptionKind::list ? CLI::MultiOptionPolicy::TakeAll
                                                            : CLI::MultiOptionPolicy::TakeLast);
  }
  app->add_option("--config", line.config, "read options from here, too: TOML, same names")
      ->type_name("FILE");
  app->add_flag("--check-config", line.check_config, "print what is set, as TOML, and end");
  app->add_flag("--version", line.version, "print the version and end");
  app->add_flag("-h,--help", line.help, "print this and end");
  app->allow_extras();
  app->footer(
      "Options come from the command line, else from the environment (--client-ttl is\n"
      "AQUA_COORDINATOR_CLIENT_TTL), else from the file. Prints \"listening on ADDRESS\" to "
      "stdout\n"
      "when ready. SIGTERM and SIGINT end it, SIGHUP reads the file again.\n"
      "Full description: aqua-coordinator(8).");
  return app;
}

Result<CommandLine> read_command_line(std::span<const char* const> arguments) {
  CommandLine line;
  const auto app = make_app(line);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app->parse(reversed);
  } catch (const CLI::ParseError& fault) {
    return Error{Code::invalid_argument, concat(fault.what(), "; see --help")};
  }
  if (const auto extras = app->remaining(); !extras.empty()) {
    return Error{Code::invalid_argument, concat("unknown option ", extras.front(), "; see --help")};
  }
  return line;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

std::string environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}

// `source` says in a message where the values came from.
Result<void> take(Options& options, const std::string& name, std::vector<std::string> values,
                  const std::string& source) {
  for (const std::string& value : values) {
    if (auto set = set_option(options, name, value); !set.ok())
      return Error{set.error().code, concat(source, ": ", set.error().message)};
  }
  options.settings[name] = std::move(values);
  return {};
}

Result<void> take_all(Options& options, const CommandLine& line) {
  std::vector<FileSetting> file;
  if (!options.config.empty()) {
    AQUA_ASSIGN(file, read_config(options.config));
  }
  for (const OptionSpec& spec : option_table()) {
    const auto& flags = line.values.at(spec.name);
    const std::string variable = environment_name(spec);
    const std::string from_environment = environment(variable);
    const auto in_file = std::ranges::find(file, spec.name, &FileSetting::name);
    if (!flags.empty()) {
      AQUA_TRY(take(options, spec.name, flags, concat("--", spec.name)));
    } else if (!from_environment.empty()) {
      AQUA_TRY(take(
          options, spec.name,
          spec.kind == OptionKind::list ? split(from_environment) : std::vector{from_environment},
          variable));
    } else if (in_file != file.end()) {
      AQUA_TRY(take(options, spec.name, in_file->values,
                    concat(options.config, ":", in_file->line, ": ", spec.name)));
    }
  }
  return {};
}

Result<void> fill_in_paths(Options& options) {
  if (options.data.empty()) options.data = default_own_directory();
  // Clients in other directories are told paths in it.
  AQUA_ASSIGN(options.data, daemon::absolute_path(options.data));
  if (options.listen.path.empty() && options.listen.host.empty()) {
    AQUA_ASSIGN(options.listen,
                wire::parse_address(concat("unix:", options.data, "/coordinator.sock")));
  }
  if (options.tokens.empty()) options.tokens = concat(options.data, "/tokens");
  // A group that may connect must be able to open the file.
  if (options.peers.group && !options.settings.contains("socket-mode")) options.socket_mode = 0660;
  if (options.lifeline.empty()) options.lifeline = concat(options.data, "/lifeline.sock");
  // Clients in other directories are told this path.
  AQUA_ASSIGN(options.lifeline, daemon::absolute_path(options.lifeline));
  if (options.lifeline.size() > wire::kMaxPath) {
    return Error{Code::invalid_argument,
                 concat("--lifeline ", options.lifeline, ": the path has ", options.lifeline.size(),
                        " bytes; a Unix socket's has at most ", wire::kMaxPath)};
  }
  if (options.lifeline == options.listen.path) {
    return Error{Code::invalid_argument,
                 concat("--lifeline and --listen must differ: ", options.lifeline)};
  }
  return {};
}

// All of them or none: what was meant to be encrypted is, and a certificate is shown somewhere.
Result<void> check_tls(const Options& options) {
  const bool listens = options.tls_listen.has_value();
  const bool certified = !options.tls.certificate.empty();
  if (listens == certified && certified == !options.tls.key.empty()) return {};
  return Error{Code::invalid_argument,
               "--tls-listen, --tls-cert and --tls-key go together: give all three or none"};
}

bool is_loopback(std::string_view member) {
  const auto at = [member](std::string_view host) {
    return member.starts_with(concat("http://", host, ":"));
  };
  return at("127.0.0.1") || at("[::1]") || at("localhost");
}

// Where there is no etcd to ask, nothing is said of how.
Result<void> check_servers(Options& options) {
  ServerOptions& server = options.server;
  if (server.name.empty()) server.name = host_name();
  if (!options.settings.contains("etcd")) {
    for (const char* name : {"etcd-authority", "etcd-user", "etcd-password", "server-ttl"}) {
      if (options.settings.contains(name))
        return Error{Code::invalid_argument, concat("--", name, " goes with --etcd")};
    }
  }
  // So that a member that hangs does not use up the lease, while the next one would answer.
  const auto members = static_cast<int>(std::max<std::size_t>(server.etcd.members.size(), 1));
  server.etcd.timeout = std::clamp(std::chrono::milliseconds(server.ttl) / (2 * members),
                                   std::chrono::milliseconds(500), std::chrono::milliseconds(2000));
  if (server.etcd.user.empty() != server.etcd.password_file.empty())
    return Error{Code::invalid_argument, "--etcd-user and --etcd-password go together"};
  for (const std::string& member : server.etcd.members) {
    if (server.etcd.user.empty() || member.starts_with("https://") || is_loopback(member)) continue;
    return Error{Code::invalid_argument, concat("--etcd-user: the password would go to ", member,
                                                " for all to read; give https://, or "
                                                "neither --etcd-user nor --etcd-password")};
  }
  return {};
}

}  // namespace

Result<Options> parse_options(std::span<const char* const> arguments) {
  AQUA_ASSIGN(const CommandLine line, read_command_line(arguments));
  Options options;
  options.help = line.help;
  options.version = line.version;
  options.check_config = line.check_config;
  if (options.help || options.version) return options;
  options.config = line.config.empty() ? environment("AQUA_COORDINATOR_CONFIG") : line.config;
  AQUA_TRY(take_all(options, line));
  AQUA_TRY(fill_in_paths(options));
  AQUA_TRY(check_tls(options));
  AQUA_TRY(check_servers(options));
  return options;
}

std::string usage() {
  CommandLine line;
  return make_app(line)->help();
}

std::string to_toml(const Options& options) {
  std::string text;
  for (const auto& [name, values] : options.settings) {
    const OptionSpec& spec = *find_option(name);
    std::string list;
    for (const std::string& value : values) list += (list.empty() ? "" : ", ") + value;
    text += concat(name, " = ",
                   spec.kind == OptionKind::list   ? concat("[", list, "]")
                   : spec.kind == OptionKind::text ? config_string(values.back())
                                                   : values.back(),
                   "\n");
  }
  return text;
}

std::vector<std::string> need_restart(const Options& running, const Options& wanted) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : option_table()) {
    if (spec.reloads) continue;
    const auto before = running.settings.find(spec.name);
    const auto after = wanted.settings.find(spec.name);
    const bool had = before != running.settings.end();
    const bool has = after != wanted.settings.end();
    if (had != has || (had && before->second != after->second)) names.emplace_back(spec.name);
  }
  return names;
}

}  // namespace aqua::coordinator
