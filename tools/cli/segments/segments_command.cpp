// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/segments/segments_command.hpp"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "aqua/handoff/segments.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/action.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAbout = R"(Usage: aqua segments [list] [options]
       aqua segments drop --number N --generation N [options]

What the keeper of this server keeps of segments: host memory that a process has committed, and
that outlives it until it is dropped. Drops what nobody will ever read. (docs/operate/keeper.md))";

constexpr std::uint64_t kMostNumber = 1'000'000'000'000'000;

Json to_json(const SegmentStatus& row) {
  Json json{{"number", row.name.number}, {"generation", row.name.generation},
            {"bytes", row.name.bytes},   {"capacity", row.capacity},
            {"parcel", row.parcel},      {"writer", row.has_writer},
            {"readers", row.readers},    {"on_disk", row.on_disk}};
  if (row.copy_of) {
    json["copy_of"] = {{"server", row.copy_of->server},
                       {"keeper", row.copy_of->keeper},
                       {"number", row.copy_of->number},
                       {"generation", row.copy_of->generation}};
  }
  return json;
}
Json to_json(const SegmentSum& sum) {
  return {{"segments", sum.segments}, {"bytes", sum.bytes}};
}
// null: the keeper has none.
Json to_json(const SegmentDisk& disk) {
  if (disk.directory.empty()) return nullptr;
  return {{"directory", disk.directory},
          {"writes", disk.writes},
          {"error", disk.error},
          {"quota_bytes", disk.quota_bytes},
          {"file_bytes", disk.file_bytes},
          {"durable", to_json(disk.durable)},
          {"pending", to_json(disk.pending)},
          {"memory_only", to_json(disk.memory_only)},
          {"left", to_json(disk.left)}};
}

std::string words_of(const SegmentDisk& disk) {
  if (disk.directory.empty()) return {};
  const auto sum = [](const SegmentSum& of) {
    return concat(of.segments, " (", of.bytes >> 10, " KiB)");
  };
  return concat("disk ", disk.directory, ": ", disk.file_bytes >> 10, " of ",
                disk.quota_bytes >> 10, " KiB; durable ", sum(disk.durable), ", pending ",
                sum(disk.pending), ", in memory alone ", sum(disk.memory_only),
                ", on the disk alone ", sum(disk.left), "\n",
                disk.writes ? "" : "nothing is written there\n",
                disk.error.empty() ? "" : concat("the last error: ", disk.error, "\n"));
}

Result<std::string> list(const SegmentsCommand& command) {
  AQUA_ASSIGN(const auto rows, list_segments(command.keeper));
  AQUA_ASSIGN(const SegmentDisk disk, segment_disk(command.keeper));
  if (command.json) {
    Json all = Json::array();
    for (const SegmentStatus& row : rows) all.push_back(to_json(row));
    return Json{{"segments", all}, {"disk", to_json(disk)}}.dump(2) + "\n";
  }
  if (rows.empty()) return concat("the keeper keeps no segments\n", words_of(disk));
  std::ostringstream out;
  const auto line = [&](const auto& number, const auto&... columns) {
    out << std::setw(16) << number;
    ((out << std::setw(11) << columns), ...);
    out << '\n';
  };
  line("number", "generation", "KiB", "of KiB", "parcel", "writer", "readers", "disk", "  copy of");
  for (const SegmentStatus& row : rows) {
    line(row.name.number, row.name.generation, row.name.bytes >> 10, row.capacity >> 10, row.parcel,
         row.has_writer ? "there" : "gone", row.readers, row.on_disk ? "yes" : "no",
         row.copy_of ? concat("  ", row.copy_of->server) : std::string());
  }
  out << words_of(disk);
  return out.str();
}

}  // namespace

CommandLine segments_line(SegmentsCommand& command) {
  CommandLine line("segments", kAbout);
  line.number("--number", command.number, 1, kMostNumber, "N", "of the segment to drop")
      .number("--generation", command.generation, 1, kMostNumber, "N", "of what is kept in it")
      .text("--keeper", command.keeper, "PATH",
            "its socket; else $AQUA_KEEPER, else keeper.sock where aqua-keeper puts it")
      .flag("--json", command.json, "for scripts");
  return line;
}

Result<SegmentsCommand> parse_segments(std::span<const std::string_view> arguments) {
  const auto bad = [](const std::string& what) {
    return Error{Code::invalid_argument, concat("segments: ", what)};
  };
  SegmentsCommand command;
  auto action = take_action<SegmentsAction>(
      arguments, {{"list", SegmentsAction::list}, {"drop", SegmentsAction::drop}});
  if (!action.ok()) return bad(action.error().message);
  command.action = *action;
  AQUA_TRY(segments_line(command).parse(arguments));
  if (command.action == SegmentsAction::list) return command;
  if (command.number == 0) return bad("this needs --number");
  if (command.generation == 0) return bad("this needs --generation");
  return command;
}

Result<std::string> run_segments(const SegmentsCommand& command) {
  if (command.action == SegmentsAction::list) return list(command);
  AQUA_TRY(drop_segment(command.number, command.generation, command.keeper));
  if (command.json) return Json{{"dropped", command.number}}.dump(2) + "\n";
  return concat("segment ", command.number, " is dropped\n");
}

}  // namespace aqua::tool
