// SPDX-License-Identifier: Apache-2.0
// What a packer cannot be made with or told is named, and changes nothing.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "aqua/packing/packer.hpp"

namespace aqua::packing::test {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

std::string refusal(std::string_view policy, const PackerOptions& options) {
  const auto made = make_packer(policy, options);
  EXPECT_FALSE(made.ok());
  if (made.ok()) return "";
  EXPECT_EQ(made.error().code, Code::invalid_argument);
  return made.error().message;
}

TEST(PackerBadInput, APolicyThatThereIsNotIsNamedBesideThoseThatThereAre) {
  const std::string said = refusal("luck", {});
  EXPECT_NE(said.find("'luck'"), std::string::npos) << said;
  for (const std::string& name : packer_names()) {
    EXPECT_NE(said.find(name), std::string::npos) << said;
    EXPECT_EQ(make_packer(name, {}).value()->name(), name);
  }
  EXPECT_TRUE(make_packer(kDefaultPacker, {}).ok());
}

TEST(PackerBadInput, AnOptionThatCannotBeIsNamed) {
  const auto named = [](const PackerOptions& options, const char* field) {
    EXPECT_NE(refusal("pack", options).find(field), std::string::npos) << field;
  };
  for (const double wrong : {-0.1, 0.6, kNoNumber}) named({.watermark = wrong}, "watermark is");
  for (const double wrong : {-0.1, 1.1, kNoNumber}) named({.near_slack = wrong}, "near_slack is");
  for (const double wrong : {0.0, 1.1, kNoNumber}) named({.balance_gap = wrong}, "balance_gap is");
  named({.max_moves = 0}, "max_moves is 0");
  named({.block_tokens = 0}, "block_tokens is 0");
  named({.bytes_per_token = 0}, "bytes_per_token is 0");
}

class PackerCalls : public ::testing::TestWithParam<std::string> {
 protected:
  PackerCalls() : packer_(make_packer(GetParam(), {.watermark = 0, .block_tokens = 1}).value()) {
    EXPECT_TRUE(packer_->join({.id = EngineId{1}, .kv_tokens = 100}).ok());
    EXPECT_TRUE(packer_->join({.id = EngineId{2}, .kv_tokens = 100}).ok());
    EXPECT_TRUE(packer_->arrive({.id = RequestId{1}, .tokens = 60}).ok());
    EXPECT_TRUE(
        packer_
            ->arrive({.id = RequestId{2}, .tokens = 30, .prefix = PrefixId{5}, .prefix_tokens = 20})
            .ok());
  }

  template <typename Call>
  void refused(Code code, const std::string& says, const Call& call) {
    const PackerStatus before = packer_->status();
    const auto told = call();
    ASSERT_FALSE(told.ok()) << says;
    EXPECT_EQ(told.error().code, code) << told.error().message;
    EXPECT_NE(told.error().message.find(says), std::string::npos) << told.error().message;
    EXPECT_EQ(packer_->status(), before) << says;
  }
  std::unique_ptr<Packer> packer_;
};

TEST_P(PackerCalls, EnginesThatCannotBeAreNamed) {
  using enum Code;
  const auto join = [&](EngineSpec spec) { return [this, spec] { return packer_->join(spec); }; };
  refused(already_exists, "engine 1", join({.id = EngineId{1}, .kv_tokens = 5}));
  refused(invalid_argument, "engine 0", join({.kv_tokens = 5}));
  refused(invalid_argument, "kv_tokens is 0", join({.id = EngineId{3}}));
  refused(invalid_argument, "kv_tokens", join({.id = EngineId{3}, .kv_tokens = UINT64_MAX}));
  refused(invalid_argument, "wake_cost",
          join({.id = EngineId{3}, .kv_tokens = 5, .wake_cost = kNoNumber}));
  refused(invalid_argument, "kv_tokens is 0", [&] { return packer_->resize(EngineId{1}, 0); });
  const EngineId nobody{9};
  refused(not_found, "resize: no engine 9", [&] { return packer_->resize(nobody, 5); });
  refused(not_found, "drain: no engine 9", [&] { return packer_->drain(nobody); });
  refused(not_found, "gone: no engine 9", [&] { return packer_->gone(nobody); });
  refused(not_found, "lost: no engine 9", [&] { return packer_->lost(nobody); });
  refused(not_found, "no engine 9", [&] { return packer_->engine(nobody); });
  const EngineId full = packer_->request(RequestId{1})->engine;
  refused(failed_precondition, "requests", [&] { return packer_->gone(full); });
  ASSERT_TRUE(packer_->drain(full).ok());
  refused(failed_precondition, "is draining", [&] { return packer_->drain(full); });
}

TEST_P(PackerCalls, RequestsThatCannotBeAreNamed) {
  using enum Code;
  const auto come = [&](RequestSpec spec) {
    return [this, spec] { return packer_->arrive(spec); };
  };
  const RequestId one{1}, three{3}, nobody{9};
  refused(already_exists, "request 1", come({.id = one, .tokens = 5}));
  refused(invalid_argument, "tokens is 0", come({.id = three}));
  refused(invalid_argument, "tokens is", come({.id = three, .tokens = UINT64_MAX}));
  refused(invalid_argument, "max_new is", come({.id = three, .tokens = 5, .max_new = UINT64_MAX}));
  refused(resource_exhausted, "needs 101 tokens", come({.id = three, .tokens = 101}));
  refused(invalid_argument, "prefix_tokens 6 of 5",
          come({.id = three, .tokens = 5, .prefix = PrefixId{1}, .prefix_tokens = 6}));
  refused(invalid_argument, "prefix 0", come({.id = three, .tokens = 5, .prefix_tokens = 2}));
  refused(invalid_argument, "others of prefix 5 said 20",
          come({.id = three, .tokens = 30, .prefix = PrefixId{5}, .prefix_tokens = 19}));
  refused(not_found, "grew: no request 9", [&] { return packer_->grew(nobody, 5); });
  refused(invalid_argument, "has 60 tokens, not 59", [&] { return packer_->grew(one, 59); });
  refused(not_found, "ended: no request 9", [&] { return packer_->ended(nobody); });
  refused(not_found, "moved: no request 9", [&] { return packer_->moved(nobody, 1); });
  refused(not_found, "no request 9", [&] { return packer_->request(nobody); });
  refused(failed_precondition, "is resident, not moving", [&] { return packer_->moved(one, 1); });
  refused(failed_precondition, "is resident, not moving", [&] { return packer_->failed(one, 1); });
}

// Less than a block is shared with nobody, so that nobody is held to it.
TEST_P(PackerCalls, APrefixShorterThanABlockIsForgottenWithItsRequest) {
  const auto packer = make_packer(GetParam(), {.block_tokens = 16}).value();
  ASSERT_TRUE(packer->join({.id = EngineId{1}, .kv_tokens = 1000}).ok());
  const auto come = [&](std::uint64_t tokens) {
    return packer->arrive(
        {.id = RequestId{1}, .tokens = 200, .prefix = PrefixId{7}, .prefix_tokens = tokens});
  };
  ASSERT_TRUE(come(10).ok());
  ASSERT_TRUE(packer->ended(RequestId{1}).ok());
  EXPECT_TRUE(come(100).ok());
}

// A plan that was overtaken: the request ended, or its engine died, while it moved.
TEST_P(PackerCalls, AMoveThatIsOffIsNamed) {
  if (GetParam() == "bf" || GetParam() == "wf") return;
  const EngineId from = packer_->request(RequestId{1})->engine;
  ASSERT_TRUE(packer_->drain(from).ok());
  Plan plan = packer_->epoch();
  for (int i = 0; i < 3 && plan.moves.empty(); ++i) plan = packer_->epoch();
  ASSERT_FALSE(plan.moves.empty());
  ASSERT_TRUE(packer_->lost(plan.moves.front().to).ok());
  const RequestId who = plan.moves.front().request;
  refused(Code::failed_precondition, "not moving",
          [&] { return packer_->moved(who, plan.number); });
  // Another plan moves it elsewhere: what is said late about the first move is not about this one.
  ASSERT_TRUE(packer_->join({.id = EngineId{3}, .kv_tokens = 100}).ok());
  const Plan next = packer_->epoch();
  ASSERT_EQ(packer_->request(who)->state, RequestState::moving);
  const auto late = "moves by plan " + std::to_string(next.number) + ", not by plan " +
                    std::to_string(plan.number);
  refused(Code::failed_precondition, late, [&] { return packer_->moved(who, plan.number); });
  refused(Code::failed_precondition, late, [&] { return packer_->failed(who, plan.number); });
  ASSERT_TRUE(packer_->moved(who, next.number).ok());
  ASSERT_TRUE(packer_->ended(who).ok());
  refused(Code::not_found, "moved: no request", [&] { return packer_->moved(who, next.number); });
}

INSTANTIATE_TEST_SUITE_P(Each, PackerCalls, ::testing::ValuesIn(packer_names()),
                         [](const auto& which) { return which.param; });

}  // namespace
}  // namespace aqua::packing::test
