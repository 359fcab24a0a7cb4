// SPDX-License-Identifier: Apache-2.0
// The `aqua` command.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "southbound/operator.hpp"
#include "tools/cli/calibrate/calibrate_command.hpp"
#include "tools/cli/place/place_command.hpp"
#include "tools/cli/profile/profile_command.hpp"
#include "tools/cli/simulate/simulate_command.hpp"
#include "tools/cli/slab_story.hpp"
#include "tools/cli/status_report.hpp"
#include "tools/cli/watch.hpp"

namespace {

using aqua::Code;
using aqua::Error;
using aqua::Result;

constexpr std::string_view kUsage =
    "Usage: aqua status [--coordinator ADDRESS] [--json] [--watch [--interval MS]]\n"
    "       aqua slab PRODUCER/INDEX [--coordinator ADDRESS] [--json]\n"
    "       aqua calibrate [--device DEVICE] [--peer DEVICE] [--directory DIR|off] [--cached]\n"
    "                      [--mib N] [--json | --plot] [--explain BYTES,BLOCK]\n"
    "       aqua simulate --trace FILE [options]     (aqua simulate --help)\n"
    "       aqua profile --url URL --trace FILE --json FILE [options]     (aqua profile --help)\n"
    "       aqua place --input FILE [--json FILE] [--svg FILE] [--explain] [--dry-run]\n"
    "                  [--time-limit S] [--solver NAME] [--post ADDRESS]...\n"
    "       aqua place --placed FILE --post ADDRESS...\n"
    "       aqua --help | --version\n"
    "\n"
    "status      who lends what to whom on this server\n"
    "\n"
    "  --coordinator ADDRESS   unix:PATH or HOST:PORT; default: $AQUA_COORDINATOR\n"
    "  --json                  for scripts; with --watch an object a line\n"
    "  --watch                 again and again until Ctrl-C, every second or --interval MS\n"
    "\n"
    "slab        what happened to a slab: PRODUCER is an id, its beginning, or a name\n"
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
    "profile     the load an engine sustains, and the memory it leaves (docs/plan/profiling.md)\n"
    "place       which model on which server, and who lends to whom (docs/plan/placement.md)\n"
    "\n"
    "  --input FILE            servers and models, as JSON; -: standard input\n"
    "  --json FILE             where the placement goes; -: standard output\n"
    "  --svg FILE              a picture of it\n"
    "  --explain               every server with its models, balance and pairs\n"
    "  --dry-run               show it, write and post nothing\n"
    "  --time-limit S          seconds; default 10\n"
    "  --solver NAME           auto, cbc, heuristic, or naive (for comparison); default auto\n"
    "  --post ADDRESS          tell this coordinator its pairs; may be repeated\n"
    "  --placed FILE           post what --json has written, without placing anew\n"
    "\n"
    "Exit status: 0, 1 when it could not be done, 2 for a wrong command line.\n";

struct Command {
  std::string coordinator{};
  std::string slab{};  // of `aqua slab`
  bool json = false;
  bool watch = false;
  std::chrono::milliseconds interval{1000};
};

Result<std::chrono::milliseconds> parse_interval(std::string_view text) {
  constexpr int kLongest = 3'600'000;
  int ms = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (fault != std::errc{} || end != text.data() + text.size() || ms < 10 || ms > kLongest) {
    return Error{Code::invalid_argument,
                 aqua::concat("--interval ", text, ": expected 10 to ", kLongest, " ms")};
  }
  return std::chrono::milliseconds{ms};
}

// Of `verb`: status or slab.
Result<Command> parse(std::string_view verb, const std::vector<std::string_view>& arguments) {
  Command command;
  const bool status = verb == "status";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--json") {
      command.json = true;
    } else if (argument == "--coordinator" && i + 1 < arguments.size()) {
      command.coordinator = arguments[++i];
    } else if (status && argument == "--watch") {
      command.watch = true;
    } else if (status && argument == "--interval" && i + 1 < arguments.size()) {
      AQUA_ASSIGN(command.interval, parse_interval(arguments[++i]));
    } else if (!status && command.slab.empty() && !argument.starts_with("-")) {
      command.slab = argument;
    } else {
      return Error{Code::invalid_argument,
                   aqua::concat(verb, ": unknown argument '", argument, "'")};
    }
  }
  if (!status && command.slab.empty())
    return Error{Code::invalid_argument, "slab: which one? Give PRODUCER/INDEX"};
  const char* environment = std::getenv("AQUA_COORDINATOR");
  if (command.coordinator.empty() && environment != nullptr) command.coordinator = environment;
  if (command.coordinator.empty()) {
    return Error{
        Code::invalid_argument,
        aqua::concat(verb, ": no coordinator: give --coordinator or set AQUA_COORDINATOR")};
  }
  return command;
}

Result<std::string> status(const Command& command) {
  AQUA_ASSIGN(const auto state, aqua::southbound::fetch_state(command.coordinator));
  return command.json ? aqua::tool::render_json(state, command.watch) : aqua::tool::render(state);
}

Result<std::string> slab(const Command& command) {
  AQUA_ASSIGN(const auto state, aqua::southbound::fetch_state(command.coordinator));
  AQUA_ASSIGN(const auto id, aqua::tool::find_slab(state, command.slab));
  AQUA_ASSIGN(const auto story, aqua::southbound::fetch_story(command.coordinator, id));
  // Times in a story are this process's steady clock.
  using std::chrono::duration_cast;
  const auto now =
      duration_cast<aqua::ledger::Time>(std::chrono::steady_clock::now().time_since_epoch());
  if (command.json) return aqua::wire::encode(story, now) + "\n";
  const std::chrono::duration<double> wall = std::chrono::system_clock::now().time_since_epoch();
  return aqua::tool::render(story, now, wall.count());
}

bool asks_for_help(std::string_view argument) {
  return argument == "--help" || argument == "-h";
}

std::string_view usage_of(std::string_view verb) {
  if (verb == "profile") return aqua::tool::kProfileUsage;
  if (verb == "simulate") return aqua::tool::kSimulateUsage;
  return kUsage;
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
  if (arguments.empty()) {
    std::fprintf(stderr, "aqua: no command\n%s", kUsage.data());
    return 2;
  }
  const std::string_view verb = arguments.front();
  if (verb == "help" || std::ranges::any_of(arguments, asks_for_help)) {
    std::fputs(usage_of(verb).data(), stdout);
    return 0;
  }
  if (verb == "--version") {
    std::puts("aqua " AQUA_VERSION);
    return 0;
  }
  const std::vector<std::string_view> rest(arguments.begin() + 1, arguments.end());
  if (verb == "status") {
    auto command = parse(verb, rest);
    if (command.ok() && command->watch)
      return aqua::tool::watch([&] { return status(*command); }, command->interval);
    return perform([&] { return std::move(command); }, status);
  }
  if (verb == "slab") return perform([&] { return parse(verb, rest); }, slab);
  if (verb == "calibrate") {
    return perform([&] { return aqua::tool::parse_calibrate(rest); }, aqua::tool::run_calibrate);
  }
  if (verb == "place") {
    return perform([&] { return aqua::tool::parse_place(rest); }, aqua::tool::run_place);
  }
  if (verb == "profile") {
    return perform([&] { return aqua::tool::parse_profile_options(rest); },
                   [](const auto& options) { return aqua::tool::run_profile(options); });
  }
  if (verb == "simulate") {
    return perform([&] { return aqua::tool::parse_simulate(rest); }, aqua::tool::run_simulate);
  }
  std::fprintf(stderr, "aqua: unknown command '%.*s'\n%s", static_cast<int>(verb.size()),
               verb.data(), kUsage.data());
  return 2;
}
