// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/slab_story.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/wire/samples.hpp"
#include "tools/cli/watch.hpp"

namespace aqua::tool {
namespace {

using ::testing::HasSubstr;
using wire::samples::id;

wire::State state_with(std::initializer_list<std::pair<ClientId, const char*>> clients) {
  wire::State state;
  for (const auto& [client, name] : clients) {
    ledger::Client row;
    row.info.id = client;
    row.info.name = name;
    state.clients.push_back(row);
  }
  return state;
}

TEST(FindSlab, ByNameByBeginningAndByIdOfOneThatIsGone) {
  const auto state = state_with({{id<ClientId>(0xaa), "producer-0"}, {id<ClientId>(0xab), "a/b"}});
  EXPECT_EQ(find_slab(state, "producer-0/3").value(), (ledger::SlabId{id<ClientId>(0xaa), 3}));
  EXPECT_EQ(find_slab(state, "aaaa/0").value(), (ledger::SlabId{id<ClientId>(0xaa), 0}));
  EXPECT_EQ(find_slab(state, "a/b/7").value(), (ledger::SlabId{id<ClientId>(0xab), 7}));
  EXPECT_EQ(find_slab(state, to_string(id<ClientId>(0xcc)) + "/1").value(),
            (ledger::SlabId{id<ClientId>(0xcc), 1}));
}

TEST(FindSlab, SaysWhatIsWrong) {
  const auto state = state_with({{id<ClientId>(0xaa), "twin"}, {id<ClientId>(0xab), "twin"}});
  for (const char* text : {"", "twin", "twin/", "twin/x", "twin/-1", "twin/4294967296", "twin/1 "})
    EXPECT_EQ(find_slab(state, text).error().code, Code::invalid_argument) << text;
  EXPECT_EQ(find_slab(state, "nobody/1").error().code, Code::not_found);
  EXPECT_EQ(find_slab(state, "aa/1").error().code, Code::not_found) << "too short a beginning";
  const auto twins = find_slab(state, "twin/1");
  EXPECT_EQ(twins.error().code, Code::failed_precondition);
  EXPECT_THAT(twins.error().message, HasSubstr("several"));
}

TEST(SlabStory, ReadsAsSentencesWithTimes) {
  wire::SlabStory story{.epoch = {},
                        .slab = {id<ClientId>(0xaa), 3},
                        .bytes = 2097152,
                        .forgotten = 5,
                        .entries = {{.at = ledger::Time{500},
                                     .event = "reclaim",
                                     .from = ledger::SlabState::leased,
                                     .to = ledger::SlabState::revoking,
                                     .generation = 2,
                                     .holder = id<ClientId>(0xbb),
                                     .holder_name = "engine",
                                     .holder_pid = 47,
                                     .reclaim = 9}}};
  ::setenv("TZ", "UTC", 1);
  const std::string text = render(story, ledger::Time{1000}, 1'700'000'000.75);
  EXPECT_THAT(text, HasSubstr("2023-11-14 22:13:20.250  revoking"));
  EXPECT_THAT(text, HasSubstr("revoked from engine (process 47), for reclaim 9"));
  EXPECT_THAT(text, HasSubstr("(5 earlier events are forgotten)"));
}

TEST(Watch, RedrawClearsWhatWasThere) {
  EXPECT_EQ(redrawn("a\nb\n"), "\033[Ha\033[K\nb\033[K\n\033[J");
}

}  // namespace
}  // namespace aqua::tool
