// The `aqua` command.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "southbound/exchange.hpp"
#include "tools/status_report.hpp"

namespace {

using aqua::Code;
using aqua::Error;
using aqua::Result;

constexpr std::string_view kUsage =
    "Usage: aqua status [--coordinator ADDRESS] [--json]\n"
    "       aqua --help | --version\n"
    "\n"
    "status   who lends what to whom on this server\n"
    "\n"
    "  --coordinator ADDRESS   unix:PATH or HOST:PORT; default: $AQUA_COORDINATOR\n"
    "  --json                  for scripts\n"
    "\n"
    "Exit status: 0, 1 when the coordinator could not be asked, 2 for a wrong command line.\n";

struct Command {
  std::string coordinator{};
  bool json = false;
};

Result<Command> parse(const std::vector<std::string_view>& arguments) {
  Command command;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--json") {
      command.json = true;
    } else if (arguments[i] == "--coordinator" && i + 1 < arguments.size()) {
      command.coordinator = arguments[++i];
    } else {
      return Error{Code::invalid_argument,
                   aqua::concat("status: unknown argument '", arguments[i], "'")};
    }
  }
  const char* environment = std::getenv("AQUA_COORDINATOR");
  if (command.coordinator.empty() && environment != nullptr) command.coordinator = environment;
  if (command.coordinator.empty()) {
    return Error{Code::invalid_argument,
                 "status: no coordinator: give --coordinator or set AQUA_COORDINATOR"};
  }
  return command;
}

Result<std::string> status(const Command& command) {
  constexpr std::chrono::seconds kPatience{5};
  AQUA_ASSIGN(const auto address, aqua::wire::parse_address(command.coordinator));
  const aqua::southbound::HttpRequest request{"GET", "/v1/state", std::nullopt, ""};
  auto outcome = aqua::southbound::exchange(address, request,
                                            aqua::southbound::Clock::now() + kPatience, nullptr);
  if (!outcome.reply) return outcome.error;
  if (outcome.reply->status != 200) {
    return Error{Code::unavailable,
                 aqua::concat("HTTP ", outcome.reply->status, ": ", outcome.reply->body)};
  }
  AQUA_ASSIGN(const auto state, aqua::wire::decode<aqua::wire::State>(outcome.reply->body));
  return command.json ? aqua::tool::render_json(state) : aqua::tool::render(state);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const std::string_view verb = arguments.empty() ? "" : arguments.front();
  if (verb == "--help" || verb == "-h" || verb == "help") {
    std::fputs(kUsage.data(), stdout);
    return 0;
  }
  if (verb == "--version") {
    std::puts("aqua " AQUA_VERSION);
    return 0;
  }
  if (verb != "status") {
    std::fprintf(stderr, "aqua: unknown command '%.*s'\n%s", static_cast<int>(verb.size()),
                 verb.data(), kUsage.data());
    return 2;
  }
  const auto command = parse({arguments.begin() + 1, arguments.end()});
  if (!command.ok()) {
    std::fprintf(stderr, "aqua: %s\n", command.error().message.c_str());
    return 2;
  }
  const auto text = status(*command);
  if (!text.ok()) {
    std::fprintf(stderr, "aqua: %s\n", text.error().message.c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}
