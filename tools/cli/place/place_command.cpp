// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/place/place_command.hpp"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/place/place_post.hpp"
#include "tools/place/model/input.hpp"
#include "tools/place/report.hpp"

namespace aqua::tool {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("place: ", what)};
}

Result<double> parse_seconds(std::string_view text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, seconds);
  if (error == std::errc{} && last == end && seconds > 0 && seconds <= 86'400) return seconds;
  return bad(concat("--time-limit ", text, ": expected seconds, more than 0 and at most 86400"));
}

Result<std::string> read_all(const std::string& path) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    return text;
  }
  std::ifstream file(path, std::ios::binary);
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file) return Error{Code::not_found, concat("place: cannot read ", path)};
  return text;
}

Result<void> write_all(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return Error{Code::unavailable, concat("place: cannot write ", path)};
  return {};
}

Result<void> one_source(const PlaceCommand& command) {
  if (command.placed.empty()) {
    if (!command.input.empty()) return {};
    return bad("--input FILE is missing ('-': standard input)");
  }
  const bool makes_one = !command.input.empty() || !command.json.empty() || !command.svg.empty();
  if (makes_one)
    return bad("--placed is of a placement made before: --post is all that goes with it");
  if (command.post.empty()) return bad("--placed FILE is to be posted where? Give --post ADDRESS");
  return {};
}

// To one coordinator after the other. `shown` and what was posted are not lost with one that fails.
Result<std::string> post_all(const PlaceCommand& command,
                             const std::vector<place::NamedPair>& pairs, std::string shown) {
  for (const std::string& coordinator : command.post) {
    const auto posted = post_pairs(coordinator, pairs);
    if (!posted.ok()) {
      std::fputs(shown.c_str(), stdout);
      return posted.error();
    }
    if (command.json == "-") {
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

Result<PlaceCommand> parse_place(std::span<const std::string_view> arguments) {
  PlaceCommand command;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    if (name == "--explain") command.explain = true;
    if (name == "--dry-run") command.dry_run = true;
    if (name == "--explain" || name == "--dry-run") continue;
    const bool known = name == "--input" || name == "--json" || name == "--svg" ||
                       name == "--time-limit" || name == "--solver" || name == "--post" ||
                       name == "--placed";
    if (!known) return bad(concat("unknown argument '", name, "'"));
    if (++i == arguments.size() || arguments[i].empty()) {
      return bad(concat(name, " needs a value"));
    }
    if (name == "--input") command.input = arguments[i];
    if (name == "--placed") command.placed = arguments[i];
    if (name == "--json") command.json = arguments[i];
    if (name == "--svg") command.svg = arguments[i];
    if (name == "--solver") command.solve.solver = arguments[i];
    if (name == "--post") command.post.emplace_back(arguments[i]);
    if (name == "--time-limit") {
      AQUA_ASSIGN(command.solve.time_limit_s, parse_seconds(arguments[i]));
    }
  }
  AQUA_TRY(one_source(command));
  return command;
}

Result<std::string> run_place(const PlaceCommand& command) {
  if (!command.placed.empty()) return post_placed(command);
  AQUA_ASSIGN(const std::string text, read_all(command.input));
  AQUA_ASSIGN(place::Problem problem, place::parse_problem(text));
  AQUA_ASSIGN(const place::Cluster cluster, place::Cluster::make(std::move(problem)));
  AQUA_ASSIGN(const place::Placement placement, place::solve(cluster, command.solve));
  std::string shown = place::render_text(cluster, placement, command.explain);
  if (command.dry_run) return shown + "dry run: nothing written, nothing posted\n";
  const std::string json = place::render_json(cluster, placement);
  if (command.json == "-") shown = json;
  if (!command.json.empty() && command.json != "-") {
    AQUA_TRY(write_all(command.json, json));
  }
  if (!command.svg.empty()) {
    AQUA_TRY(write_all(command.svg, place::render_svg(cluster, placement)));
  }
  return post_all(command, place::named_pairs(cluster, placement), std::move(shown));
}

}  // namespace aqua::tool
