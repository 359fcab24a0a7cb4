// SPDX-License-Identifier: Apache-2.0
#include "show/expansion.hpp"

#include <algorithm>

#include "show/text.hpp"
#include "tools/report/svg_plot.hpp"

namespace aqua::example {
namespace {

using nlohmann::json;
using Frames = std::vector<FramesSince>;

constexpr std::size_t kShown = 20;  // frames in a line

std::uint64_t count_of(const json& of, const char* name) {
  return of.at(name).get<std::uint64_t>();
}

std::string borrower(std::size_t index) {
  return "emu:" + std::to_string(kProducers + index);
}

std::uint32_t frames_at(const Frames& frames, double seconds) {
  std::uint32_t now = frames.empty() ? 0 : frames.front().frames;
  for (const FramesSince& each : frames) {
    if (each.seconds <= seconds) now = each.frames;
  }
  return now;
}

}  // namespace

json expansion_json(const RunRecord& outcome) {
  ExpansionStats sum;
  json frames = json::array();
  for (const ConsumerStats& consumer : outcome.consumers) {
    const ExpansionStats& of = consumer.expansion;
    sum.layers = of.layers;
    sum.steps += of.steps;
    sum.resizes += of.resizes;
    sum.refused += of.refused;
    sum.preempted += of.preempted;
    sum.moved_blocks += of.moved_blocks;
    sum.verified_bytes += of.verified_bytes;
    sum.fetched_bytes += of.fetched_bytes;
    sum.written_bytes += of.written_bytes;
    frames.push_back(of.frames_over_time);
  }
  return {{"expand", to_string(outcome.options.expansion)},
          {"hostile", outcome.options.hostile_device()},
          {"layers", sum.layers},
          {"steps", sum.steps},
          {"resizes", sum.resizes},
          {"resizes_asked", outcome.options.least_resizes()},
          {"refused", sum.refused},
          {"preempted", sum.preempted},
          {"moved_blocks", sum.moved_blocks},
          {"verified_bytes", sum.verified_bytes},
          {"fetched_bytes", sum.fetched_bytes},
          {"written_bytes", sum.written_bytes},
          {"frames_over_time", frames}};
}

json death_json(const Play& play) {
  const LenderDeath& death = play.death();
  return {{"name", "emu:" + std::to_string(death.producer().value_or(0))},
          {"at_seconds", death.seconds()},
          {"held_bytes", death.held_bytes()},
          {"left", play.dead_lender_left()}};
}

std::string expansion_sentence(const json& report) {
  if (!report.contains("expansion")) return "";
  const json& of = report.at("expansion");
  std::uint32_t least = UINT32_MAX, most = 0;
  for (const json& each : of.at("frames_over_time")) {
    for (const FramesSince& since : each.get<Frames>()) {
      least = std::min(least, since.frames);
      most = std::max(most, since.frames);
    }
  }
  return text(
      "%lu layers had %u to %u frames, which changed %lu times (%lu asked for); %lu blocks were "
      "moved for that and %lu sequences preempted. %.1f GB came in for %lu steps, which compared "
      "%.1f GB.",
      count_of(of, "layers"), least, most, count_of(of, "resizes"), count_of(of, "resizes_asked"),
      count_of(of, "moved_blocks"), count_of(of, "preempted"),
      static_cast<double>(count_of(of, "fetched_bytes")) / 1e9, count_of(of, "steps"),
      static_cast<double>(count_of(of, "verified_bytes")) / 1e9);
}

std::string death_sentence(const json& report) {
  if (!report.contains("killed_lender")) return "";
  const json& of = report.at("killed_lender");
  return text("%s was killed while %lu MiB of its memory were in use, %s.",
              of.at("name").get<std::string>().c_str(), count_of(of, "held_bytes") >> 20,
              of.at("left").get<bool>() ? "which the borrowers left" : "and is still in use");
}

std::string frames_lines(const json& report) {
  if (!report.contains("expansion")) return "";
  std::string out;
  std::size_t index = 0;
  for (const json& each : report.at("expansion").at("frames_over_time")) {
    const auto frames = each.get<Frames>();
    const double end = frames.empty() ? 0 : frames.back().seconds;
    out += "  frames of " + borrower(index++) + " ";
    for (std::size_t i = 0; i < kShown; ++i)
      out += text("%3u", frames_at(frames, end * static_cast<double>(i) / (kShown - 1)));
    out += "\n";
  }
  return out;
}

std::string frames_svg(const json& report) {
  if (!report.contains("expansion")) return "";
  report::Plot plot{.title = "Frames",
                    .x_label = "seconds since the engine started",
                    .y_label = "frames",
                    .series = {}};
  for (const json& each : report.at("expansion").at("frames_over_time")) {
    report::Series series{.name = borrower(plot.series.size()), .points = {}};
    for (const FramesSince& since : each.get<Frames>()) {
      if (!series.points.empty())
        series.points.emplace_back(since.seconds, series.points.back().second);
      series.points.emplace_back(since.seconds, since.frames);
    }
    plot.series.push_back(std::move(series));
  }
  return report::render_svg(plot);
}

void check_expansion(const json& report, std::vector<std::string>& list) {
  if (report.contains("expansion")) {
    const json& of = report.at("expansion");
    const std::uint64_t resizes = count_of(of, "resizes"), asked = count_of(of, "resizes_asked");
    if (resizes < asked) {
      list.push_back("the frames changed " + std::to_string(resizes) + " times, asked for were " +
                     std::to_string(asked));
    }
  }
  if (!report.contains("killed_lender")) return;
  const json& of = report.at("killed_lender");
  if (count_of(of, "held_bytes") == 0) list.emplace_back("the killed lender had lent nothing");
  if (!of.at("left").get<bool>()) list.emplace_back("a killed lender's memory is still in use");
}

}  // namespace aqua::example
