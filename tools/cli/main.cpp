// SPDX-License-Identifier: Apache-2.0
// The `aqua` command.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/admin/operator.hpp"
#include "tools/cli/calibrate/calibrate_command.hpp"
#include "tools/cli/coordinator_option.hpp"
#include "tools/cli/groups/groups_command.hpp"
#include "tools/cli/manual.hpp"
#include "tools/cli/models/models_command.hpp"
#include "tools/cli/orders.hpp"
#include "tools/cli/place/place_command.hpp"
#include "tools/cli/plan/plan_command.hpp"
#include "tools/cli/pools/pools_command.hpp"
#include "tools/cli/profile/profile_command.hpp"
#include "tools/cli/segments/segments_command.hpp"
#include "tools/cli/servers/servers_command.hpp"
#include "tools/cli/simulate/simulate_command.hpp"
#include "tools/cli/slab_story.hpp"
#include "tools/cli/status_report.hpp"
#include "tools/cli/top/top_command.hpp"
#include "tools/cli/watch.hpp"
#include "tools/options/command_line.hpp"

namespace {

using aqua::Code;
using aqua::CommandLine;
using aqua::Error;
using aqua::Result;
using aqua::tool::OrderKind;
using aqua::tool::Page;
using Arguments = std::span<const std::string_view>;

struct Command {
  std::string coordinator{};
  std::string slab{};  // of `aqua slab`
  bool json = false;
  bool watch = false;
  std::chrono::milliseconds interval{1000};
};

// The command line of `verb`: status or slab.
CommandLine line_of(std::string_view verb, Command& command) {
  const bool status = verb == "status";
  CommandLine line(std::string(verb),
                   status
                       ? "Usage: aqua status [options]\n\nWho lends what to whom on this server."
                       : "Usage: aqua slab PRODUCER/INDEX [options]\n\nWhat happened to a slab.");
  aqua::tool::add_coordinator(line, command.coordinator);
  line.flag("--json", command.json, "for scripts; with --watch an object a line");
  if (status) {
    line.flag("--watch", command.watch, "again and again until Ctrl-C")
        .number("--interval", command.interval, 10, 3'600'000, "MS", "between two of these");
  } else {
    line.positional("PRODUCER/INDEX", command.slab, "PRODUCER is an id, its beginning, or a name");
  }
  return line;
}

Result<Command> parse(std::string_view verb, Arguments arguments) {
  Command command;
  AQUA_TRY(line_of(verb, command).parse(arguments));
  if (verb == "slab" && command.slab.empty())
    return Error{Code::invalid_argument, "slab: which one? Give PRODUCER/INDEX"};
  AQUA_TRY(aqua::tool::resolve_coordinator(command.coordinator, verb));
  return command;
}

Result<std::string> status(const Command& command) {
  AQUA_ASSIGN(const auto state, aqua::admin::fetch_state(command.coordinator));
  return command.json ? aqua::tool::render_json(state, command.watch) : aqua::tool::render(state);
}

Result<std::string> slab(const Command& command) {
  AQUA_ASSIGN(const auto state, aqua::admin::fetch_state(command.coordinator));
  AQUA_ASSIGN(const auto id, aqua::tool::find_slab(state, command.slab));
  AQUA_ASSIGN(const auto story, aqua::admin::fetch_story(command.coordinator, id));
  // Times in a story are this process's steady clock.
  using std::chrono::duration_cast;
  const auto now =
      duration_cast<aqua::ledger::Time>(std::chrono::steady_clock::now().time_since_epoch());
  if (command.json) return aqua::wire::encode(story, now) + "\n";
  const std::chrono::duration<double> wall = std::chrono::system_clock::now().time_since_epoch();
  return aqua::tool::render(story, now, wall.count());
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

int run_status(Arguments arguments) {
  auto command = parse("status", arguments);
  if (command.ok() && command->watch)
    return aqua::tool::watch([&] { return status(*command); }, command->interval);
  return perform([&] { return std::move(command); }, status);
}

int run_top(Arguments arguments) {
  auto command = aqua::tool::parse_top(arguments);
  if (command.ok() && !command->once)
    return aqua::tool::watch([&] { return aqua::tool::run_top(*command); }, command->interval);
  return perform([&] { return std::move(command); }, aqua::tool::run_top);
}

Page page_of(CommandLine line) {
  return {.name = {},
          .summary = {},
          .help = line.help(),
          .about = line.about(),
          .options = line.options()};
}
Page page_of(std::string_view verb) {
  Command command;
  return page_of(line_of(verb, command));
}
template <typename Options, CommandLine (*line)(Options&)>
Page page_of() {
  Options options;
  return page_of(line(options));
}

template <aqua::tool::OrderKind kind>
Page page_of_order() {
  aqua::tool::Order order{.kind = kind};
  return page_of(aqua::tool::order_line(order));
}
template <aqua::tool::OrderKind kind>
int give_order(Arguments arguments) {
  return perform([&] { return aqua::tool::parse_order(kind, arguments); }, aqua::tool::run_order);
}

// A command of `aqua`: what is told of it, and what runs it and returns the exit status.
struct Verb {
  std::string_view name;
  std::string_view summary;
  Page (*page)();
  int (*run)(Arguments arguments);
};

const Verb kVerbs[] = {
    {"status", "who lends what to whom on this server", [] { return page_of("status"); },
     run_status},
    {"top", "engines behind a router, their requests, moves and lent memory, as they are now",
     page_of<aqua::tool::TopCommand, aqua::tool::top_line>, run_top},
    {"slab", "what happened to a slab", [] { return page_of("slab"); },
     [](Arguments arguments) { return perform([&] { return parse("slab", arguments); }, slab); }},
    {"drain", "takes home all that a client lends, and grants it nothing more",
     page_of_order<OrderKind::drain>, give_order<OrderKind::drain>},
    {"reclaim", "takes some of what a client lends home", page_of_order<OrderKind::reclaim>,
     give_order<OrderKind::reclaim>},
    {"pair", "says who borrows from whom", page_of_order<OrderKind::pair>,
     give_order<OrderKind::pair>},
    {"servers", "the servers whose coordinators know each other",
     page_of<aqua::tool::ServersCommand, aqua::tool::servers_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_servers(arguments); },
                      aqua::tool::run_servers);
     }},
    {"groups", "who serves as which rank of which pipeline, and how far a recovery is",
     page_of<aqua::tool::GroupsCommand, aqua::tool::groups_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_groups(arguments); }, aqua::tool::run_groups);
     }},
    {"models", "whose weights the keeper has; loads, verifies and retires them",
     page_of<aqua::tool::ModelsCommand, aqua::tool::models_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_models(arguments); }, aqua::tool::run_models);
     }},
    {"pools", "KV pools that the keeper has, and the parcels that wait in them",
     page_of<aqua::tool::PoolsCommand, aqua::tool::pools_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_pools(arguments); }, aqua::tool::run_pools);
     }},
    {"segments", "host memory that processes have committed to the keeper, and outlives them",
     page_of<aqua::tool::SegmentsCommand, aqua::tool::segments_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_segments(arguments); },
                      aqua::tool::run_segments);
     }},
    {"calibrate", "measures how fast a device copies, each way over each link, and keeps it",
     page_of<aqua::tool::CalibrateCommand, aqua::tool::calibrate_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_calibrate(arguments); },
                      aqua::tool::run_calibrate);
     }},
    {"simulate",
     "what an engine's users would feel under each scheduling policy (docs/plan/simulation.md)",
     page_of<aqua::tool::SimulateOptions, aqua::tool::simulate_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_simulate(arguments); },
                      aqua::tool::run_simulate);
     }},
    {"plan", "one pipeline, several, or prefill and decode apart (docs/plan/pipelines.md)",
     page_of<aqua::tool::PlanOptions, aqua::tool::plan_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_plan(arguments); }, aqua::tool::run_plan);
     }},
    {"profile", "the load an engine sustains, and the memory it leaves (docs/plan/profiling.md)",
     page_of<aqua::tool::ProfileOptions, aqua::tool::profile_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_profile_options(arguments); },
                      [](const auto& options) { return aqua::tool::run_profile(options); });
     }},
    {"place", "which model on which server, and who lends to whom (docs/plan/placement.md)",
     page_of<aqua::tool::PlaceCommand, aqua::tool::place_line>,
     [](Arguments arguments) {
       return perform([&] { return aqua::tool::parse_place(arguments); }, aqua::tool::run_place);
     }},
};

std::string usage() {
  std::string text =
      "Usage: aqua COMMAND [options]\n       aqua COMMAND --help\n       aqua --help | "
      "--version\n\n";
  for (const Verb& verb : kVerbs) {
    std::string name(verb.name);
    name.resize(12, ' ');
    text += aqua::concat(name, verb.summary, "\n");
  }
  return text +
         "\n--json prints JSON instead of a text, and nothing else. Exit status: 0, 1 when it "
         "could not\nbe done, 2 for a wrong command line. `aqua manual` and `aqua completion bash` "
         "print what\nman and the shell read.\n";
}

std::vector<Page> all_pages() {
  std::vector<Page> pages;
  for (const Verb& verb : kVerbs) {
    Page page = verb.page();
    page.name = verb.name;
    page.summary = verb.summary;
    pages.push_back(std::move(page));
  }
  return pages;
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int refuse(const std::string& what) {
  std::fprintf(stderr, "aqua: %s; `aqua --help` lists the commands\n", what.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return refuse("no command");
  const std::string_view name = arguments.front();
  if (name == "--version") return print("aqua " AQUA_VERSION "\n");
  if (name == "manual") return print(aqua::tool::manual_page(all_pages(), AQUA_VERSION));
  if (name == "completion") {
    if (arguments.size() == 2 && arguments[1] == "bash")
      return print(aqua::tool::bash_completion(all_pages()));
    return refuse("completion: of which shell? `aqua completion bash` is all there is");
  }
  const bool help = name == "help" || aqua::asks_for_help(arguments);
  const auto* const verb = std::ranges::find(kVerbs, name, &Verb::name);
  if (verb != std::end(kVerbs) && !help) return verb->run(std::span(arguments).subspan(1));
  if (!help) return refuse(aqua::concat("unknown command '", name, "'"));
  return print(verb != std::end(kVerbs) ? verb->page().help : usage());
}
