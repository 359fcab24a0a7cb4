// SPDX-License-Identifier: Apache-2.0
#include "tests/groups/world.hpp"

namespace aqua::groups::test {
namespace {

class Groups : public World {};

TEST_F(Groups, AStandbyTakesADeadMembersRankUnderTheNextTerm) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  accepted([&] { return gone(2); });
  EXPECT_EQ(term(), 2u);
  EXPECT_EQ(rank_of(3), decode(1));
  EXPECT_EQ(state(), State::sealing);
  accepted([&] { return acknowledge(1, {{decode(0), 7, 40}, {decode(1), 7, 38}}); });
  accepted([&] { return acknowledge(3); });
  ASSERT_EQ(state(), State::resuming);
  EXPECT_EQ(group().plan->resume, (std::vector<Resume>{{Role::decode, 7, 38}}));
  EXPECT_EQ(group().plan->restore, (std::vector<Restore>{{decode(1), 7, client(1), 38}}));
  accepted([&] { return resumed(3); });
  accepted([&] { return resumed(1); });
  EXPECT_EQ(state(), State::running);
  EXPECT_FALSE(group().plan.has_value());
}

TEST_F(Groups, WithoutAStandbyTheGroupWaitsAndTheNextOneEndsThat) {
  run(2);
  accepted([&] { return gone(1); });
  EXPECT_EQ(state(), State::waiting);
  accepted([&] { return acknowledge(2); });
  EXPECT_EQ(state(), State::waiting);
  accepted([&] { return join(3, std::nullopt); });
  EXPECT_EQ(rank_of(3), decode(0));
  EXPECT_EQ(state(), State::sealing);
  EXPECT_TRUE(group().members.at(client(2)).acknowledged)
      << "what was sealed in this term stays so";
}

TEST_F(Groups, TwoDeathsTakeTwoStandbysInTheOrderOfTheirJoining) {
  run(3);
  accepted([&] { return join(9, std::nullopt); });
  accepted([&] { return join(8, std::nullopt); });
  accepted([&] { return gone(3); });
  accepted([&] { return gone(1); });
  EXPECT_EQ(term(), 3u);
  EXPECT_EQ(rank_of(9), decode(2));
  EXPECT_EQ(rank_of(8), decode(0));
}

TEST_F(Groups, ADeathMeanwhileBeginsARecoveryAnew) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  accepted([&] { return join(4, std::nullopt); });
  accepted([&] { return gone(1); });
  accepted([&] { return acknowledge(2, {{decode(1), 1, 5}}); });
  accepted([&] { return acknowledge(3); });
  accepted([&] { return resumed(2); });
  accepted([&] { return gone(3); });  // the successor, while it restores
  EXPECT_EQ(term(), 3u);
  EXPECT_EQ(rank_of(4), decode(0));
  EXPECT_EQ(state(), State::sealing);
  EXPECT_FALSE(group().plan.has_value());
  EXPECT_TRUE(group().members.at(client(2)).marks.empty());
  refused(Code::aborted, [&] { return book.resumed(id, client(2), 2); });
}

TEST_F(Groups, NothingHappensToASilentMember) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  accepted([&] { return silent(1, true); });
  EXPECT_EQ(state(), State::running);
  EXPECT_EQ(term(), 1u);
  EXPECT_EQ(rank_of(1), decode(0));
  EXPECT_TRUE(group().members.at(client(1)).silent);
  EXPECT_TRUE(book.changes().empty()) << "silence is not written down";
}

TEST_F(Groups, ASilentStandbyIsTakenWhenItIsHeardOf) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  accepted([&] { return silent(3, true); });
  accepted([&] { return gone(2); });
  EXPECT_EQ(state(), State::waiting);
  accepted([&] { return silent(3, false); });
  EXPECT_EQ(rank_of(3), decode(1));
}

TEST_F(Groups, AMemberThatLeavesIsReplacedAsADeadOneIs) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  accepted([&] { return book.leave(id, client(1)); });
  EXPECT_EQ(term(), 2u);
  EXPECT_EQ(rank_of(3), decode(0));
  refused(Code::not_found, [&] { return book.leave(id, client(1)); });
}

TEST_F(Groups, AnotherModelDtypeOrLayoutIsRefusedByItsName) {
  accepted([&] { return create(2); });
  const auto refused_for = [&](const char* field, const Shape& other) {
    const auto outcome = call([&] {
      return book.join(id, caller(1), {"engine", other, decode(0)});
    });
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, Code::failed_precondition);
    EXPECT_NE(outcome.error().message.find(field), std::string::npos) << outcome.error().message;
  };
  Shape other = shape();
  other.model = "opt";
  refused_for("model", other);
  other = shape();
  other.dtype = "bf16";
  refused_for("dtype", other);
  other = shape();
  other.layout = "[block][head][token][dim]";
  refused_for("layout", other);
}

TEST_F(Groups, OfAnotherUserNobodyJoinsOrCloses) {
  accepted([&] { return create(1); });
  const Caller stranger{client(1), kUser + 1};
  refused(Code::permission_denied, [&] {
    return book.join(id, stranger, {"engine", shape(), decode(0)});
  });
  refused(Code::permission_denied, [&] { return book.close(id, stranger); });
}

TEST_F(Groups, JoiningTwiceIsARepetitionOrARefusal) {
  run(2);
  refused(Code::already_exists, [&] { return join(1, decode(1)); });
  accepted([&] { return join(1, decode(0)); });
  accepted([&] { return join(3, std::nullopt); });
  refused(Code::already_exists, [&] { return join(3, decode(1)); });
  accepted([&] { return gone(2); });
  accepted([&] { return join(3, std::nullopt); });  // its reply was lost, and then it was seated
  EXPECT_EQ(rank_of(3), decode(1));
}

TEST_F(Groups, TermsThatAreOverAbortAndThoseThatNeverWereAreWrong) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  accepted([&] { return gone(2); });
  refused(Code::aborted, [&] { return book.acknowledge(id, client(1), 1, {}); });
  refused(Code::invalid_argument, [&] { return book.acknowledge(id, client(1), 3, {}); });
  refused(Code::not_found, [&] { return book.acknowledge(id, client(2), 2, {}); });
  refused(Code::not_found, [&] { return book.acknowledge(group_id(2), client(1), 2, {}); });
}

TEST_F(Groups, AStandbyAcknowledgesNothing) {
  run(1);
  accepted([&] { return join(2, std::nullopt); });
  refused(Code::failed_precondition, [&] { return acknowledge(2); });
  refused(Code::failed_precondition, [&] { return resumed(2); });
}

TEST_F(Groups, FalseMarksAreRefused) {
  run(2);
  accepted([&] { return gone(2); });
  refused(Code::invalid_argument, [&] { return acknowledge(1, {{decode(2), 1, 5}}); });
  refused(Code::invalid_argument, [&] {
    return acknowledge(1, {{decode(0), 1, 5}, {decode(1), 1, 5}, {decode(0), 1, 6}});
  });
  std::vector<Watermark> flood(Limits{}.max_marks + 1, {decode(0), 0, 1});
  for (std::size_t i = 0; i < flood.size(); ++i) flood[i].sequence = i;
  refused(Code::resource_exhausted, [&] { return acknowledge(1, flood); });
  flood.pop_back();
  accepted([&] { return acknowledge(1, flood); });
}

TEST_F(Groups, MarksOfAllTogetherAreBounded) {
  book = Book(Limits{.max_marks = 3, .max_marks_in_all = 4});
  run(2);
  accepted([&] { return gone(2); });
  accepted([&] { return join(3, decode(1)); });
  accepted([&] {
    return acknowledge(1, {{decode(0), 1, 1}, {decode(0), 2, 1}, {decode(0), 3, 1}});
  });
  refused(Code::resource_exhausted, [&] {
    return acknowledge(3, {{decode(1), 1, 1}, {decode(1), 2, 1}});
  });
  accepted([&] { return acknowledge(3, {{decode(1), 1, 1}}); });
}

TEST_F(Groups, SenselessGroupsAreRefused) {
  const auto make = [&](const std::string& name, Topology topology, Shape of = shape()) {
    return [this, name, topology, of] {
      return book.create(id, name, topology, of, caller(kCreator));
    };
  };
  refused(Code::invalid_argument, make("", stages(1)));
  refused(Code::invalid_argument, make(std::string(129, 'x'), stages(1)));
  refused(Code::invalid_argument, make("chat", {}));
  refused(Code::invalid_argument, make("chat", stages(65)));
  refused(Code::invalid_argument, make("chat", {.prefill = {}, .decode = {1, 0}}));
  refused(Code::invalid_argument, make("chat", {.prefill = {33, 1}, .decode = {32, 1}}));
  refused(Code::invalid_argument,
          make("chat", {.prefill = {}, .decode = {0xffffffff, 0xffffffff}}));
  Shape nameless = shape();
  nameless.layout.clear();
  refused(Code::invalid_argument, make("chat", stages(1), nameless));
  accepted(make("chat", {.prefill = {32, 1}, .decode = {8, 4}}));
}

TEST_F(Groups, HaveOneNameEachAndAFormerNameIsFree) {
  accepted([&] { return create(1); });
  refused(Code::already_exists,
          [&] { return book.create(group_id(2), "chat", stages(1), shape(), caller(1)); });
  accepted([&] { return book.close(id, caller(kCreator)); });
  accepted([&] { return book.create(group_id(2), "chat", stages(1), shape(), caller(1)); });
  EXPECT_EQ(book.named("chat"), group_id(2));
  refused(Code::not_found, [&] { return join(1, decode(0)); });
}

TEST_F(Groups, OfOneUserOrClientLeavePlacesForOthers) {
  book = Book(Limits{.max_groups = 8, .max_groups_of_client = 4});
  const auto create_one = [&](std::uint64_t n, Caller by) {
    return [this, n, by] {
      return book.create(group_id(n), concat("group ", n), stages(1), shape(), by);
    };
  };
  for (std::uint64_t n = 0; n < 4; ++n) accepted(create_one(n, caller(1)));
  refused(Code::resource_exhausted, create_one(4, caller(1)));
  for (std::uint64_t n = 4; n < 6; ++n) accepted(create_one(n, caller(2)));
  refused(Code::resource_exhausted, create_one(6, caller(3)));
  for (std::uint64_t n = 6; n < 8; ++n) accepted(create_one(n, {client(4), kUser + 1}));
  refused(Code::resource_exhausted, create_one(8, {client(5), kUser + 2}));
}

TEST_F(Groups, StandbysAreBoundedAndTakeNoRanksPlace) {
  book = Book(Limits{.max_standbys = 1});
  accepted([&] { return create(1); });
  accepted([&] { return join(1, std::nullopt); });
  refused(Code::resource_exhausted, [&] { return join(2, std::nullopt); });
  accepted([&] { return join(2, decode(0)); });
}

TEST_F(Groups, EndWithTheLastWhoIsThere) {
  run(1);
  accepted([&] { return gone(kCreator); });
  EXPECT_EQ(state(), State::running);
  accepted([&] { return gone(1); });
  EXPECT_FALSE(there());
}

TEST_F(Groups, StayEmptyWhileTheirCreatorLives) {
  run(1);
  accepted([&] { return gone(1); });
  EXPECT_EQ(state(), State::waiting);
  accepted([&] { return join(1, decode(0)); });
  EXPECT_EQ(term(), 2u);
  EXPECT_EQ(state(), State::sealing);
}

TEST_F(Groups, AreClosedByAnOperatorToo) {
  run(1);
  accepted([&] { return book.close(id); });
  refused(Code::not_found, [&] { return book.close(id); });
}

TEST_F(Groups, ADraftsChangesAreTheDraftsAlone) {
  run(2);
  accepted([&] { return join(3, std::nullopt); });
  const auto before = book.groups();
  Book draft = book;
  draft.gone(client(1));
  EXPECT_TRUE(draft.create(group_id(2), "other", stages(1), shape(), caller(1)).ok());
  EXPECT_TRUE(draft.close(id).ok());
  EXPECT_EQ(draft.changes().gone, std::vector{id});
  EXPECT_EQ(draft.changes().put.size(), 1u);
  EXPECT_EQ(draft.check_invariants(), "");
  EXPECT_EQ(book.groups(), before);
  EXPECT_TRUE(book.changes().empty());
  EXPECT_EQ(book.named("chat"), id);
}

TEST_F(Groups, VersionsGrowWithEveryChangeAndOnlyThen) {
  run(2);
  accepted([&] { return gone(2); });
  const std::uint64_t version = group().version;
  accepted([&] { return acknowledge(1); });
  EXPECT_EQ(group().version, version + 1);
  accepted([&] { return acknowledge(1); });
  accepted([&] { return silent(1, false); });
  EXPECT_EQ(group().version, version + 1);
}

}  // namespace
}  // namespace aqua::groups::test
