// SPDX-License-Identifier: Apache-2.0
// What the demonstration shows: lines that fit the terminal, and a gain in words that agree with
// its figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "show/gain.hpp"
#include "show/live.hpp"
#include "show/page.hpp"
#include "show/report.hpp"

namespace aqua::example {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Property;

Standing busy(std::uint64_t each) {
  Standing now{.seconds = 1234.5,
               .act = "reclaiming",
               .sent = 100'000,
               .done = 99'999,
               .consumers = {},
               .producers = {}};
  ConsumerStats consumer;
  consumer.tensors = {each, each};
  consumer.resident = consumer.preempted = consumer.waiting = 50'000;
  consumer.verified_in_cache = each * 1000;
  now.consumers = {consumer, consumer};
  ProducerStats producer;
  producer.own_bytes = producer.lent_bytes = producer.held_bytes = each;
  now.producers = {producer, producer};
  return now;
}

TEST(Live, LinesFitATerminalOf80ColumnsUncut) {
  const Standing now = busy(std::uint64_t{9999} << 20);
  const auto fits = Property(&std::string::size, Le(79U));
  EXPECT_THAT(live_block(now, 200), Each(fits));
  EXPECT_THAT(live_line(now, 200), fits);
}

TEST(Live, LinesAreCutToANarrowTerminal) {
  const auto fits = Property(&std::string::size, Le(30U));
  EXPECT_THAT(live_block(busy(1), 30), Each(fits));
  EXPECT_THAT(live_line(busy(1), 30), fits);
  EXPECT_THAT(news_line(1, std::string(100, 'x'), 30), fits);
}

json serving(double p50, double p99, double tokens, std::uint64_t host) {
  return {{"ttft_ms", {{"p50", p50}, {"p99", p99}, {"all", {p50, p99}}}},
          {"tokens_per_second", tokens},
          {"offloaded_bytes", {{"peer", 0}, {"host", host}}},
          {"fetched_bytes", {{"peer", 0}, {"host", host}}},
          {"promoted_bytes", 0},
          {"evacuated_bytes", 0}};
}

TEST(Gain, IsToldInFactorsBothWays) {
  const json compared{{"host", serving(2000, 9000, 500, 3'000'000'000)},
                      {"lent", serving(1000, 3000, 1000, 0)}};
  const auto rows = gain_rows(compared);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].gain, "2.0x sooner");
  EXPECT_EQ(rows[1].host, "9.00 s");
  EXPECT_EQ(rows[1].gain, "3.0x sooner");
  EXPECT_EQ(rows[2].gain, "2.0x as many");
  EXPECT_EQ(rows[3].host, "6.0 GB");
  EXPECT_THAT(gain_sentence(compared), AllOf(HasSubstr("3.0x sooner"), HasSubstr("2.0x")));
}

TEST(Gain, WhatIsMovedBetweenTiersCrossesTheSlowLinkToo) {
  const Serving host{.offloaded = {.host = 3'000'000'000}, .fetched = {.host = 3'000'000'000}};
  const Serving lent{.offloaded = {.peer = 9'000'000'000, .host = 400'000'000},
                     .fetched = {.peer = 9'000'000'000, .host = 300'000'000},
                     .promoted = 200'000'000,
                     .evacuated = 100'000'000};
  const auto rows = gain_rows({{"host", host}, {"lent", lent}});
  EXPECT_EQ(rows[3].host, "6.0 GB");
  EXPECT_EQ(rows[3].lent, "1.0 GB");
}

TEST(Gain, WhereThereIsNoneItSaysSo) {
  const json same = serving(2000, 9000, 500, 0), worse = serving(3000, 10'000, 400, 0);
  EXPECT_THAT(gain_sentence({{"host", same}, {"lent", same}}), HasSubstr("gained nothing"));
  EXPECT_THAT(gain_sentence({{"host", same}, {"lent", worse}}), HasSubstr("gained nothing"));
  EXPECT_EQ(gain_rows({{"host", same}, {"lent", worse}})[0].gain, "1.5x later");
  EXPECT_EQ(gain_rows({{"host", same}, {"lent", worse}})[2].gain, "1.2x fewer");
}

json report_of_a_run() {
  return {{"requests_to_compare", 1000},
          {"comparison",
           {{"requests", 1000},
            {"host", serving(200'000, 900'000, 50'000, 300'000'000'000)},
            {"lent", serving(100'000, 300'000, 100'000, 0)}}},
          {"mismatched_bytes", 0},
          {"lost_tensors", 0},
          {"requests_lost", 0},
          {"reclaims", 1},
          {"leased_again", true},
          {"policy", "cfs"},
          {"verified", {{"fetched_from", {{"peer", 2'000'000'000}, {"host", 0}}}}},
          {"offloaded_bytes", {{"peer", 999'999'999'999}, {"host", 999'999'999'999}}},
          {"fetched_bytes", {{"peer", 999'999'999'999}, {"host", 999'999'999'999}}},
          {"evacuated_bytes", 99'999'999'999},
          {"promoted_bytes", 99'999'999'999},
          {"requests_done", 99'999},
          {"requests_repeated", 99'999},
          {"tokens", 99'999'999},
          {"preemptions", 99'999},
          {"recomputations", 99'999},
          {"switched_to", {{"fair", 99'999}, {"partial", 99'999}}},
          {"wall_seconds", 1234.5},
          {"reclaim_ms", {{"max", 12'345.6}}},
          {"reclaimed_from", "emu:1"},
          {"lent_bytes_at_reclaim", 1 << 30},
          {"verified_bytes", 999'999'999'999}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Summary, AndScalingFitATerminalOf80Columns) {
  const auto fits = Each(Property(&std::string::size, Le(79U)));
  json run = report_of_a_run();
  EXPECT_THAT(lines_of(summary(run)), fits);
  run["comparison"]["lent"] = run["comparison"]["host"];
  EXPECT_THAT(lines_of(summary(run)), fits) << "of no gain";
  Options options{.host_link_mb_per_s = 1'000'000, .policy = "las", .fallback = true};
  options.iteration = std::chrono::milliseconds(1000);
  options.workload.requests = 100'000;
  EXPECT_THAT(lines_of(describe_scaling(options, load_workload(options.workload))), fits);
}

TEST(Complaints, AreNoneOfARunThatComparedHostMemoryAloneWithLentMemory) {
  json run = report_of_a_run();
  run["comparison"]["lent"]["offloaded_bytes"]["peer"] = 1;
  EXPECT_THAT(complaints(run), IsEmpty());
  run.erase("comparison");
  run["requests_to_compare"] = 0;
  EXPECT_THAT(complaints(run), IsEmpty()) << "it was not asked for";
}

TEST(Complaints, TellAComparisonThatWasAskedForAndIsNotOne) {
  json run = report_of_a_run();
  run["comparison"]["host"]["offloaded_bytes"]["peer"] = 1;
  EXPECT_THAT(complaints(run), ElementsAre(HasSubstr("while host memory alone was to be")));
  run = report_of_a_run();
  run["comparison"]["lent"]["offloaded_bytes"]["host"] = 1;
  EXPECT_THAT(complaints(run), ElementsAre(HasSubstr("nothing was preempted into lent memory")));
  run["policy"] = "vtc";
  EXPECT_THAT(complaints(run), IsEmpty()) << "it may preempt before anything is leased";
  run.erase("comparison");
  EXPECT_THAT(complaints(run), ElementsAre(HasSubstr("nothing was compared")));
}

json report_of_frames() {
  json run = report_of_a_run();
  run.erase("comparison");
  run["requests_to_compare"] = 0;
  const json frames = std::vector<FramesSince>{{0, 16, 512}, {10, 6, 1280}, {20, 9, 768}};
  run["expansion"] = {{"layers", 16},
                      {"resizes", 99'999},
                      {"resizes_asked", 200},
                      {"moved_blocks", 99'999'999},
                      {"preempted", 99'999},
                      {"fetched_bytes", 999'999'999'999},
                      {"verified_bytes", 999'999'999'999},
                      {"steps", 999'999},
                      {"frames_over_time", {frames, frames}}};
  run["killed_lender"] = {{"name", "emu:1"}, {"held_bytes", 1 << 29}, {"left", true}};
  return run;
}

TEST(Summary, TellsOfFramesWithin80Columns) {
  const auto lines = lines_of(summary(report_of_frames()));
  EXPECT_THAT(lines, Each(Property(&std::string::size, Le(79U))));
  EXPECT_THAT(lines, ::testing::Contains(AllOf(HasSubstr("frames of emu:3"), HasSubstr(" 16 "),
                                               HasSubstr("  6 "), ::testing::EndsWith("  9"))));
}

TEST(Complaints, TellFramesThatChangedTooSeldomAndALenderWhoseMemoryIsStillUsed) {
  json run = report_of_frames();
  EXPECT_THAT(complaints(run), IsEmpty());
  run["expansion"]["resizes"] = 199;
  EXPECT_THAT(complaints(run), ElementsAre(HasSubstr("changed 199 times, asked for were 200")));
  run = report_of_frames();
  run["killed_lender"]["left"] = false;
  EXPECT_THAT(complaints(run), ElementsAre(HasSubstr("still in use")));
  run["killed_lender"] = {{"name", "emu:1"}, {"held_bytes", 0}, {"left", true}};
  EXPECT_THAT(complaints(run), ElementsAre(HasSubstr("had lent nothing")));
  run = report_of_frames();
  run["requests_lost"] = 1;
  EXPECT_THAT(complaints(run), ElementsAre("requests_lost is 1"));
}

TEST(Page, BeginsWithTheVerdictAndDrawsBothServings) {
  const json report{
      {"comparison",
       {{"host", serving(2000, 9000, 500, 0)}, {"lent", serving(1000, 3000, 1000, 0)}}},
      {"reclaim_ms", {{"max", 812.4}}},
      {"reclaimed_from", "emu:1"},
      {"lent_bytes_at_reclaim", 512 << 20},
      {"leased_again", true},
      {"reclaim_at_seconds", 2.0},
      {"verified_bytes", 12'345'678'901},
      {"mismatched_bytes", 0},
      {"policy", "cfs"},
      {"scaling", {{"host_link_mb_per_s", 300}}}};
  Timeline timeline;
  for (const double seconds : {0.0, 1.0, 2.0, 3.0}) {
    Standing now = busy(1 << 30);
    now.seconds = seconds;
    timeline.note(now, {});
  }
  const std::string page = render_page(report, timeline);
  EXPECT_THAT(page,
              HasSubstr("<h1>With lent memory the slowest first tokens (p99) came 3.0x sooner"));
  EXPECT_THAT(page, HasSubstr("emu:1 had its 512 MiB back 812 ms after it asked, and lent again."));
  EXPECT_THAT(page, HasSubstr("12.3 GB were checked, 0 bytes wrong"));
  EXPECT_THAT(page, HasSubstr("class=\"mark\""));
  EXPECT_THAT(page, HasSubstr("host memory alone</span>"));
}

}  // namespace
}  // namespace aqua::example
