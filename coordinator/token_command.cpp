// SPDX-License-Identifier: Apache-2.0
#include "coordinator/token_command.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/own_directory.hpp"
#include "base/try.hpp"
#include "tools/access/tokens.hpp"

namespace aqua::coordinator {

using namespace access;

namespace {

constexpr std::string_view kUsage = R"(usage: aqua-coordinator token COMMAND [options]

  issue ROLE [NAME]   makes a token and prints it, this once; ROLE is read-only, engine or operator
  revoke ID           ends the token with this id, at once
  list                shows id, role, time of issue (seconds since 1970) and name of each

  --tokens FILE       where tokens are kept, hashed (default: <data>/tokens)
  --data DIR          (default: $XDG_RUNTIME_DIR/aqua, else /tmp/aqua-UID)
  --help

Over TCP every request carries one: "Authorization: Bearer TOKEN". The library and the aqua
command take it from the file that AQUA_TOKEN_FILE names.
)";

struct Command {
  std::vector<std::string> words;
  std::string data = default_own_directory();
  std::string tokens;
  bool help = false;
};

Result<Command> parse(std::span<const char* const> arguments) {
  Command command;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      command.help = true;
    } else if (argument == "--tokens" || argument == "--data") {
      if (i + 1 == arguments.size())
        return Error{Code::invalid_argument, concat(argument, " needs a value")};
      (argument == "--data" ? command.data : command.tokens) = arguments[++i];
    } else if (argument.starts_with("--")) {
      return Error{Code::invalid_argument,
                   concat("unknown option ", argument, "; see token --help")};
    } else {
      command.words.emplace_back(argument);
    }
  }
  if (command.tokens.empty()) {
    command.tokens = concat(command.data, "/tokens");
    // A token may be issued before the daemon's first start.
    if (::mkdir(command.data.c_str(), S_IRWXU) != 0 && errno != EEXIST)
      return errno_error(concat("create data directory ", command.data));
  }
  return command;
}

Result<std::string> issue(const Command& command) {
  const auto role = parse_role(command.words[1]);
  if (!role) {
    return Error{Code::invalid_argument,
                 concat(command.words[1], " is no role: read-only, engine or operator")};
  }
  const std::string name = command.words.size() > 2 ? command.words[2] : "";
  AQUA_ASSIGN(const std::string text, issue_token(command.tokens, *role, name));
  return concat(text, "\n");
}

Result<std::string> list(const Command& command) {
  AQUA_ASSIGN(const std::vector<Token> tokens, load_tokens(command.tokens));
  std::string text;
  for (const Token& token : tokens)
    text +=
        concat(token.id(), " ", to_string(token.role), " ", token.issued, " ", token.name, "\n");
  return text;
}

}  // namespace

Result<std::string> token_command(std::span<const char* const> arguments) {
  AQUA_ASSIGN(const Command command, parse(arguments));
  if (command.help) return std::string(kUsage);
  const std::size_t count = command.words.size();
  const std::string verb = count > 0 ? command.words[0] : "";
  if (verb == "issue" && (count == 2 || count == 3)) return issue(command);
  if (verb == "list" && count == 1) return list(command);
  if (verb == "revoke" && count == 2) {
    AQUA_TRY(revoke_token(command.tokens, command.words[1]));
    return concat("revoked ", command.words[1], "\n");
  }
  return Error{Code::invalid_argument,
               "token: expected issue ROLE [NAME], revoke ID or list; see token --help"};
}

}  // namespace aqua::coordinator
