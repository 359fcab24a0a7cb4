// SPDX-License-Identifier: Apache-2.0
#include "aqua/northbound/profile.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/profiler/search/picture.hpp"
#include "tools/profiler/search/record.hpp"

namespace aqua {
namespace {

using Json = nlohmann::json;

profiler::Record some_record() {
  profiler::Record record;
  record.profile = {.role = ProfileRole::producer,
                    .max_rps = 5,
                    .queue_length = 0.25,
                    .kv_bytes = 40'000'000'000,
                    .free_bytes = 20'000'000'000};
  record.evidence.model = "a <b>";
  record.evidence.settings = {{"from", "1"}};
  record.evidence.probes.push_back({.rate = 5,
                                    .seed = 1000,
                                    .met = true,
                                    .requests = 300,
                                    .answered = 300,
                                    .peak_bytes = 20e9,
                                    .pool_bytes = 40e9});
  record.evidence.probes.push_back({.rate = 5.5, .seed = 1001, .requests = 300, .answered = 200});
  record.evidence.bursts.push_back(
      {.factor = 2, .rate = 5, .wanted_bytes = 50e9, .swap_bytes = 10e9});
  record.evidence.batches.push_back({.batch = 1, .throughput = 2});
  record.evidence.warnings = {{"usage", "careful"}};
  return record;
}

TEST(Profile, ReadsWhatTheProfilerWrites) {
  const profiler::Record record = some_record();
  const std::string text = profiler::render_record(record);
  const auto profile = parse_profile(text);
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(*profile, record.profile);
  const auto again = profiler::parse_record(text);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(profiler::render_record(*again), text);
}

TEST(Profile, OnlyAProducersFreeBytesAreLent) {
  Profile profile = some_record().profile;
  EXPECT_EQ(to_load_profile(profile).steady_free_bytes, profile.free_bytes);
  profile.role = ProfileRole::consumer;
  EXPECT_EQ(to_load_profile(profile).steady_free_bytes, 0u);
}

TEST(Profile, NamesTheFieldThatIsWrong) {
  const Json good = Json::parse(profiler::render_record(some_record()));
  const std::pair<const char*, Json> wrong[]{{"version", 2},
                                             {"kind", "x"},
                                             {"role", "landlord"},
                                             {"max_rps", -1},
                                             {"kv_bytes", 1.5},
                                             {"free_bytes", 41e9},
                                             {"swap_bytes", "1"},
                                             {"complete", 1},
                                             {"threshold_bytes", 30e9},
                                             {"queue_length", nullptr},
                                             {"surprise", 1}};
  for (const auto& [field, value] : wrong) {
    Json bad = good;
    bad[field] = value;
    const auto profile = parse_profile(bad.dump());
    ASSERT_FALSE(profile.ok()) << field;
    EXPECT_EQ(profile.error().code, Code::invalid_argument);
    const std::string named = std::string_view(field) == "threshold_bytes" ? "producer" : field;
    EXPECT_NE(profile.error().message.find(named), std::string::npos) << profile.error().message;
  }
  for (const char* text : {"", "[]", "{", "{}"})
    EXPECT_EQ(parse_profile(text).error().code, Code::invalid_argument) << text;
  EXPECT_EQ(read_profile("/nonexistent/profile").error().code, Code::not_found);
}

TEST(Profile, EvidenceThatIsDamagedIsNotResumed) {
  const Json good = Json::parse(profiler::render_record(some_record()));
  for (const char* path :
       {"/evidence/probes/0/rate", "/evidence/settings", "/evidence/warnings/usage",
        "/evidence/bursts", "/evidence/batches/0/batch"}) {
    Json bad = good;
    bad[Json::json_pointer(path)] = nullptr;
    EXPECT_EQ(profiler::parse_record(bad.dump()).error().code, Code::invalid_argument) << path;
    EXPECT_TRUE(parse_profile(bad.dump()).ok()) << "a runtime does not read the evidence";
  }
}

TEST(Profile, TheVerdictSaysWhatWasFoundAndNothingElse) {
  profiler::Record record = some_record();
  record.evidence.model = "m";
  record.evidence.batches.clear();
  record.profile = {.role = ProfileRole::producer,
                    .max_rps = 2.5,
                    .kv_bytes = 40'000'000'000,
                    .free_bytes = 12'000'000'000};
  EXPECT_EQ(
      profiler::verdict(record),
      "m can lend: at 2.5 requests a second, the most that meets the SLA, 12.0 of its 40.0 GB "
      "are free.");
  record.profile.complete = false;
  record.profile.max_rps = 0.04;
  EXPECT_EQ(profiler::verdict(record),
            "m can lend: at 0.04 requests a second, the most that meets the SLA, 12.0 of its 40.0 "
            "GB are free. The profiler was stopped; resume it for the rest.");
  record.profile.complete = true;
  record.profile.max_rps = 0;
  EXPECT_EQ(profiler::verdict(record),
            "m: no load that was tried met the SLA, so nothing is said of its memory.");
  record.profile.complete = false;
  record.profile.role = ProfileRole::neutral;
  EXPECT_EQ(profiler::verdict(record), "m: the profiler was stopped before it knew; resume it.");
}

TEST(Profile, ThePageNamesARoleWhereOneWasFound) {
  const auto names_a_role = [](Profile profile) {
    profiler::Record record = some_record();
    record.profile = profile;
    return profiler::render_page(record, {}).find("Role ") != std::string::npos;
  };
  EXPECT_TRUE(names_a_role({.role = ProfileRole::neutral, .max_rps = 1}));
  EXPECT_TRUE(names_a_role({.role = ProfileRole::consumer, .max_rps = 1, .complete = false}));
  EXPECT_FALSE(names_a_role({.role = ProfileRole::neutral, .max_rps = 1, .complete = false}));
  EXPECT_FALSE(names_a_role({.role = ProfileRole::neutral, .max_rps = 0}));
}

TEST(Profile, IsDrawn) {
  const std::string page = profiler::render_page(some_record(), {});
  for (const char* part :
       {"producer", "Time to first token", "Swap space", "Throughput", "careful"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("a <b>"), std::string::npos) << "names are escaped";
}

}  // namespace
}  // namespace aqua
