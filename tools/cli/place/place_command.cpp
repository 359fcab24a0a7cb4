// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/place/place_command.hpp"

#include <unistd.h>

#include <cstdio>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "tools/admin/operator.hpp"
#include "tools/cli/place/place_post.hpp"
#include "tools/cli/write_file.hpp"
#include "tools/place/model/input.hpp"
#include "tools/place/report.hpp"

namespace aqua::tool {
namespace {

constexpr const char* kAbout =
    R"(Usage: aqua place --input FILE [options]
       aqua place --placed FILE --post ADDRESS...
       aqua place --placed FILE --post-all ADDRESS

Which model on which server, and who lends to whom. docs/plan/placement.md has input and output.)";

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("place: ", what)};
}

Result<std::string> read_all(const std::string& path) {
  return path == "-" ? read_file_of(STDIN_FILENO, "standard input") : read_file(path);
}

Result<void> one_source(const PlaceCommand& command) {
  if (command.placed.empty()) {
    if (!command.input.empty()) return {};
    return bad("--input FILE is missing ('-': standard input)");
  }
  const bool makes_one =
      !command.input.empty() || !command.out.empty() || !command.svg.empty() || command.json;
  if (makes_one)
    return bad("--placed is of a placement made before: --post is all that goes with it");
  if (command.post.empty() && command.post_all.empty())
    return bad("--placed FILE is to be posted where? Give --post ADDRESS, or --post-all ADDRESS");
  return {};
}

// That are to be told.
Result<std::vector<std::string>> coordinators(const PlaceCommand& command) {
  std::vector<std::string> all = command.post;
  if (command.post_all.empty()) return all;
  AQUA_ASSIGN(const wire::Servers servers, admin::fetch_servers(command.post_all));
  AQUA_ASSIGN(const auto known, coordinators_of(servers, command.post_all));
  all.insert(all.end(), known.begin(), known.end());
  return all;
}

// To one coordinator after the other. `shown` and what was posted are not lost with one that fails.
Result<std::string> post_all(const PlaceCommand& command,
                             const std::vector<place::NamedPair>& pairs, std::string shown) {
  const auto all = coordinators(command);
  if (!all.ok()) {
    std::fputs(shown.c_str(), stdout);
    return all.error();
  }
  for (const std::string& coordinator : *all) {
    const auto posted = post_pairs(coordinator, pairs);
    if (!posted.ok()) {
      std::fputs(shown.c_str(), stdout);
      return posted.error();
    }
    if (command.json) {
      std::fputs(posted->c_str(), stderr);
    } else {
      shown += *posted;
    }
  }
  return shown;
}

Result<std::string> post_placed(const PlaceCommand& command) {
  AQUA_ASSIGN(const std::string text, read_all(command.placed));
  const auto pairs = place::parse_pairs(text);
  if (!pairs.ok())
    return Error{pairs.error().code,
                 concat("place: ", command.placed, ": ", pairs.error().message)};
  if (command.dry_run) return concat("dry run: ", pairs->size(), " pairs, nothing posted\n");
  return post_all(command, *pairs, "");
}

}  // namespace

CommandLine place_line(PlaceCommand& command) {
  CommandLine line("place", kAbout);
  line.text("--input", command.input, "FILE", "servers and models, as JSON; -: standard input")
      .text("--out", command.out, "FILE", "where the placement goes, as JSON")
      .flag("--json", command.json, "print the placement instead of a text")
      .text("--svg", command.svg, "FILE", "a picture of it")
      .flag("--explain", command.explain, "every server with its models, balance and pairs")
      .flag("--dry-run", command.dry_run, "show it, write and post nothing")
      .number("--time-limit", command.solve.time_limit_s, 1e-6, 86'400, "S", "seconds")
      .text("--solver", command.solve.solver, "NAME",
            "auto, cbc, heuristic, or naive (for comparison)")
      .list("--post", command.post, "ADDRESS", "tell this coordinator its pairs; may be repeated")
      .text("--post-all", command.post_all, "ADDRESS",
            "tell all servers theirs that this coordinator knows (GET /v1/servers)")
      .text("--placed", command.placed, "FILE",
            "post what --out has written, without placing anew");
  return line;
}

Result<PlaceCommand> parse_place(std::span<const std::string_view> arguments) {
  PlaceCommand command;
  AQUA_TRY(place_line(command).parse(arguments));
  AQUA_TRY(one_source(command));
  return command;
}

Result<std::string> run_place(const PlaceCommand& command) {
  if (!command.placed.empty()) return post_placed(command);
  AQUA_ASSIGN(const std::string text, read_all(command.input));
  AQUA_ASSIGN(place::Problem problem, place::parse_problem(text));
  AQUA_ASSIGN(const place::Cluster cluster, place::Cluster::make(std::move(problem)));
  AQUA_ASSIGN(const place::Placement placement, place::solve(cluster, command.solve));
  const std::string json = place::render_json(cluster, placement);
  std::string shown = command.json ? json : place::render_text(cluster, placement, command.explain);
  if (command.dry_run && command.json) return shown;
  if (command.dry_run) return shown + "dry run: nothing written, nothing posted\n";
  if (!command.out.empty()) {
    AQUA_TRY(write_file(command.out, json));
  }
  if (!command.svg.empty()) {
    AQUA_TRY(write_file(command.svg, place::render_svg(cluster, placement)));
  }
  return post_all(command, place::named_pairs(cluster, placement), std::move(shown));
}

}  // namespace aqua::tool
