// The `aqua` command.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "southbound/exchange.hpp"
#include "tools/calibrate_command.hpp"
#include "tools/place_command.hpp"
#include "tools/simulate_command.hpp"
#include "tools/status_report.hpp"

namespace {

using aqua::Code;
using aqua::Error;
using aqua::Result;

constexpr std::string_view kUsage =
    "Usage: aqua status [--coordinator ADDRESS] [--json]\n"
    "       aqua calibrate [--device DEVICE] [--peer DEVICE] [--directory DIR|off] [--cached]\n"
    "                      [--mib N] [--json | --plot] [--explain BYTES,BLOCK]\n"
    "       aqua simulate --trace FILE [options]     (aqua simulate --help)\n"
    "       aqua place --input FILE [--json FILE] [--svg FILE] [--explain] [--dry-run]\n"
    "                  [--time-limit S] [--solver NAME] [--post ADDRESS]...\n"
    "       aqua --help | --version\n"
    "\n"
    "status      who lends what to whom on this server\n"
    "\n"
    "  --coordinator ADDRESS   unix:PATH or HOST:PORT; default: $AQUA_COORDINATOR\n"
    "  --json                  for scripts\n"
    "\n"
    "calibrate   measures how fast a device copies, each way over each link, and keeps it\n"
    "\n"
    "  --device DEVICE         emu:N or cuda:N; default: $AQUA_DEVICE, else emu:0\n"
    "  --peer DEVICE           measure the link to this neighbour as well\n"
    "  --directory DIR         where measurements are kept; default: the user's cache. off: "
    "nowhere\n"
    "  --cached                show what is kept, if that is good, instead of measuring\n"
    "  --mib N                 the largest transfer measured; default 64, more for large caches\n"
    "  --json, --plot          for scripts; for the eye\n"
    "  --explain BYTES,BLOCK   which way BYTES in scattered blocks would take, why, how long\n"
    "\n"
    "simulate    what an engine's users would feel under each scheduling policy, on a trace\n"
    "place       which model on which server, and who lends to whom (docs/placement.md)\n"
    "\n"
    "  --input FILE            servers and models, as JSON; -: standard input\n"
    "  --json FILE             where the placement goes; -: standard output\n"
    "  --svg FILE              a picture of it\n"
    "  --explain               every server with its models, balance and pairs\n"
    "  --dry-run               show it, write and post nothing\n"
    "  --time-limit S          seconds; default 10\n"
    "  --solver NAME           auto, cbc, heuristic, or naive (for comparison); default auto\n"
    "  --post ADDRESS          tell this coordinator its pairs; may be repeated\n"
    "\n"
    "Exit status: 0, 1 when it could not be done, 2 for a wrong command line.\n";

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

int complain(const Error& error, int status) {
  std::fprintf(stderr, "aqua: %s\n", error.message.c_str());
  return status;
}

// Parses, runs, prints: 2 for a wrong command line, 1 for a failure.
template <typename Parse, typename Run>
int perform(Parse parse_arguments, Run run) {
  const auto command = parse_arguments();
  if (!command.ok()) return complain(command.error(), 2);
  const auto text = run(*command);
  if (!text.ok()) return complain(text.error(), 1);
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const std::string_view verb = arguments.empty() ? "" : arguments.front();
  if (verb == "--help" || verb == "-h" || verb == "help") {
    std::fputs(kUsage.data(), stdout);
    return 0;
  }
  for (const std::string_view argument : arguments) {
    if (argument != "--help" || verb != "place") continue;
    std::fputs(kUsage.data(), stdout);
    return 0;
  }
  if (verb == "--version") {
    std::puts("aqua " AQUA_VERSION);
    return 0;
  }
  const std::vector<std::string_view> rest(arguments.begin() + (arguments.empty() ? 0 : 1),
                                           arguments.end());
  if (verb == "status") return perform([&] { return parse(rest); }, status);
  if (verb == "calibrate") {
    return perform([&] { return aqua::tool::parse_calibrate(rest); }, aqua::tool::run_calibrate);
  }
  if (verb == "place") {
    return perform([&] { return aqua::tool::parse_place(rest); }, aqua::tool::run_place);
  }
  if (verb == "simulate") {
    if (!rest.empty() && (rest.front() == "--help" || rest.front() == "-h")) {
      std::fputs(aqua::tool::kSimulateUsage.data(), stdout);
      return 0;
    }
    return perform([&] { return aqua::tool::parse_simulate(rest); }, aqua::tool::run_simulate);
  }
  std::fprintf(stderr, "aqua: unknown command '%.*s'\n%s", static_cast<int>(verb.size()),
               verb.data(), kUsage.data());
  return 2;
}
