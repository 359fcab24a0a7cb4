// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "aqua/kv_stream/streamer.hpp"
#include "systems/kv_stream/decide/stream/note.hpp"
#include "systems/kv_stream/decide/stream/routes.hpp"
#include "tests/systems/kv_stream/stream/pair.hpp"

namespace aqua::kv_stream {
namespace {

using test::Pair;
using test::pipeline;
using test::PipelineSpec;
using test::Rank;
using test::sure;
using test::TwoToOne;

TEST_F(TwoToOne, EachLayerIsGivenOnceAndAllBeforeTheEnd) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  const auto refused = [](const Result<void>& result) { return result.error().code; };
  EXPECT_EQ(refused(outs[0].layer(1, first_.stream())), Code::invalid_argument);
  EXPECT_EQ(refused(outs[0].finish("", first_.stream())), Code::failed_precondition);
  sure(outs[0].layer(0, first_.stream()));
  EXPECT_EQ(refused(outs[0].layer(0, first_.stream())), Code::invalid_argument);
  EXPECT_EQ(refused(outs[0].finish(std::string(3073, 'x'), first_.stream())),
            Code::invalid_argument);
  sure(outs[0].finish("", first_.stream()));
  EXPECT_EQ(refused(outs[0].finish("", first_.stream())), Code::failed_precondition);
}

TEST_F(TwoToOne, WhatWasCancelledIsNeitherReadyNorKeptNorLanded) {
  const auto code = [](const auto& result) { return result.error().code; };
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  sure(outs[0].layer(0, first_.stream()));
  outs[0].cancel();
  EXPECT_EQ(code(outs[0].ready()), Code::cancelled);
  EXPECT_EQ(code(outs[0].finish("", first_.stream())), Code::cancelled);
  EXPECT_TRUE(outs[0].copied().ok());
  outs[1].cancel();
  EXPECT_EQ(code(outs[1].layer(0, pair_.senders[1]->stream())), Code::cancelled);
  outs = pair_.begin(2, 8);
  sure(outs[0].layer(0, first_.stream()));
  sure(outs[0].finish("", first_.stream()));
  outs[0].cancel();
  EXPECT_EQ(code(outs[0].kept()), Code::cancelled);
  EXPECT_EQ(code(outs[0].landed()), Code::cancelled);
}

// One of the two ranks that receive has another attempt by now.
TEST(OneToTwo, OfASequenceThatCannotBeClosedForAllNothingStays) {
  Pair pair(pipeline({1}, 1, 4), pipeline({1}, 2, 4));
  pair.admit(1);
  auto outs = pair.begin(1, 8);
  Rank& sender = *pair.senders[0];
  sure(outs[0].layer(0, sender.stream()));
  sure(emulated::synchronize(pair.runtime, sender.stream()));
  sure(pair.hub.book.cancel(id_of({"prefill", 0}, {"decode", 1}, 1)));
  EXPECT_FALSE(outs[0].finish("pending", sender.stream()).ok());
  EXPECT_TRUE(sure(outs[0].copied())) << "the blocks are the sender's again";
  EXPECT_EQ(outs[0].finish("pending", sender.stream()).error().code, Code::cancelled);
  EXPECT_EQ(pair.hub.book.size(), 0U) << "nobody gets half of it";
}

TEST(OneToTwo, OfASequenceOneOfWhoseLayersIsCopiedInPartNothingStays) {
  Pair pair(pipeline({1}, 1, 4), pipeline({1}, 2, 4));
  pair.admit(1);
  auto outs = pair.begin(1, 8);
  Rank& sender = *pair.senders[0];
  sender.carrier.fill_at_most(1);
  const auto layer = [&] { return outs[0].layer(0, sender.stream()).error().code; };
  EXPECT_EQ(layer(), Code::resource_exhausted);
  EXPECT_EQ(layer(), Code::cancelled) << "and not that it was given before";
  sure(emulated::synchronize(pair.runtime, sender.stream()));
  EXPECT_TRUE(sure(outs[0].copied())) << "the blocks are the sender's again";
  EXPECT_EQ(pair.hub.book.size(), 0U) << "nobody gets half of it";
  sender.carrier.fill_at_most(2);
  auto again = pair.begin(1, 8, 2);
  pair.send(again, 8, 1);
  EXPECT_EQ(pair.receive(1, 8, 1, 2), 0U);
}

// A parcel that another process made up.
TEST_F(TwoToOne, WhatCannotBeIsRefusedAndNothingLands) {
  const KvShards from = pipeline({1, 1}, 1, 4).shards, to = pipeline({2}, 1, 4).shards;
  const StreamNote good{.agreement = agreement_of(from, to), .from = {"prefill", 0}, .sequence = 1};
  const std::string id = id_of(good.from, {"decode", 0}, 1);
  std::uint64_t refused = 0;
  const auto offer = [&](const std::string& as, std::uint64_t turn, std::uint32_t tokens,
                         const std::string& note) {
    test::MemoryCarrier liar(pair_.hub, pair_.runtime, first_.layout(),
                             Streamer::role("prefill", 0));
    pair_.admit(1);
    const auto number = sure(liar.open({as, turn}, Streamer::role("decode", 0)));
    sure(liar.close(number, {}, tokens, note, first_.stream()));
    EXPECT_TRUE(receiver_.streamer.arrived().empty());
    EXPECT_EQ(receiver_.streamer.status().refused, ++refused) << note;
    EXPECT_EQ(pair_.hub.book.size(), 0U) << note;
  };
  StreamNote wrong = good;
  offer("a", turn_of(1), 8, "nonsense");
  offer("b", turn_of(1), 8, write_note(good));  // the id is another's
  wrong.agreement += 1;
  offer(id, turn_of(1), 8, write_note(wrong));
  wrong = good;
  wrong.from.group = "unheard-of";
  offer(id_of(wrong.from, {"decode", 0}, 1), turn_of(1), 8, write_note(wrong));
  wrong = good;
  wrong.from.rank = 2;
  offer(id_of(wrong.from, {"decode", 0}, 1), turn_of(1), 8, write_note(wrong));
  offer(id, turn_of(1) + 2, 0, write_note(good));  // no tokens
  wrong = good;
  wrong.attempt = 3;  // the turn is another attempt's
  offer(id, turn_of(2), 8, write_note(wrong));
  EXPECT_EQ(receiver_.carrier.landed(), 0U);
}

TEST(OneToOne, OfASequenceThatLacksALayerNothingLands) {
  const test::PipelineSpec shape = pipeline({3}, 1, 4);
  Pair pair(shape, shape);
  pair.admit(1);
  Rank &sender = *pair.senders[0], &receiver = *pair.receivers[0];
  const StreamNote note{
      .agreement = agreement_of(shape.shards, shape.shards), .from = {"prefill", 0}, .sequence = 1};
  test::MemoryCarrier liar(pair.hub, pair.runtime, sender.layout(), Streamer::role("prefill", 0));
  const auto number = sure(
      liar.open({id_of(note.from, {"decode", 0}, 1), turn_of(1)}, Streamer::role("decode", 0)));
  for (std::uint32_t layer = 0; layer < 2; ++layer) {
    sender.write(layer, 8, 1);
    sure(liar.fill(number, {.layers = {layer, 1}, .tokens = {0, 8}, .heads = {0, 4}},
                   sender.blocks_for(8), sender.stream()));
  }
  sure(liar.close(number, {}, 8, write_note(note), sender.stream()));
  (void)liar.wait({});  // for its copies
  ASSERT_EQ(receiver.streamer.arrived().size(), 1U);
  const auto refused = receiver.streamer.stream_in(1, receiver.blocks_for(8), receiver.stream());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_EQ(receiver.carrier.landed(), 0U);
  EXPECT_EQ(receiver.wrong(0, 0), 0U) << "no byte was touched";
}

std::optional<Code> landed(const StreamOut& out) {
  const auto asked = out.landed();
  EXPECT_TRUE(!asked.ok() || !*asked) << "it has not";
  return asked.ok() ? std::nullopt : std::optional(asked.error().code);
}

TEST_F(TwoToOne, SendersAreToldThatAReceiverOfAnotherFormatRefusesTheirs) {
  PipelineSpec from = pipeline({1, 1}, 1, 4), to = pipeline({2}, 1, 4);
  from.shards.shape.format = to.shards.shape.format = "fp8";
  pair_.receivers.clear();
  std::mt19937 random(2);
  Rank redeployed(pair_.runtime, pair_.hub, "decode", 0, to, {{"prefill", from.shards}}, random);
  sure(redeployed.streamer.admit("prefill", 1));
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);
  EXPECT_TRUE(redeployed.streamer.arrived().empty());
  EXPECT_EQ(redeployed.streamer.status().refused, 2U);
  for (const StreamOut& out : outs) {
    EXPECT_EQ(landed(out), Code::failed_precondition);
    EXPECT_TRUE(sure(out.kept())) << "nobody waits for this sender any more";
    EXPECT_EQ(landed(out), Code::failed_precondition) << "also when it is asked again";
  }
}

TEST_F(TwoToOne, SendersAreToldThatWhatIsNotWantedDoesNotLand) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);
  EXPECT_TRUE(receiver_.streamer.arrived([](std::uint64_t) { return false; }).empty());
  EXPECT_EQ(landed(outs[0]), Code::failed_precondition);
  EXPECT_EQ(landed(outs[1]), Code::failed_precondition);
}

TEST_F(TwoToOne, ASenderIsToldThatItsPartOfWhatIsCutOffDoesNotLand) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  send_first_part(outs);
  EXPECT_TRUE(receiver_.streamer.arrived().empty());
  EXPECT_EQ(landed(outs[0]), std::nullopt) << "the rest may come";
  outs[1].cancel();
  EXPECT_EQ(receiver_.streamer.cut_off().size(), 1U);
  EXPECT_EQ(landed(outs[0]), Code::failed_precondition);
}

TEST_F(TwoToOne, ASenderIsToldThatItsPartOfWhatIsFinishedDoesNotLand) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  send_first_part(outs);
  EXPECT_TRUE(receiver_.streamer.arrived().empty());
  EXPECT_FALSE(sure(receiver_.streamer.finish(1, receiver_.stream())));
  EXPECT_EQ(landed(outs[0]), Code::failed_precondition);
}

TEST_F(TwoToOne, SendersAreToldThatWhatIsFinishedBeforeItIsTakenInDoesNotLand) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);
  ASSERT_EQ(receiver_.streamer.arrived().size(), 1U);
  EXPECT_TRUE(sure(receiver_.streamer.finish(1, receiver_.stream())));
  EXPECT_EQ(landed(outs[0]), Code::failed_precondition);
  EXPECT_EQ(landed(outs[1]), Code::failed_precondition);
}

TEST_F(TwoToOne, BlocksThatAreTooFewAreRefused) {
  pair_.admit(1);
  const auto blocks = first_.blocks_for(8);
  const auto refused = [&](const StreamOutOptions& options) {
    return first_.streamer.stream_out(options).error().code;
  };
  EXPECT_EQ(refused({.sequence = 1, .to = "decode", .blocks = blocks, .tokens = 9}),
            Code::invalid_argument);
  EXPECT_EQ(refused({.sequence = 1, .to = "decode", .blocks = blocks, .tokens = 0}),
            Code::invalid_argument);
  EXPECT_EQ(refused({.sequence = 1, .attempt = 0, .to = "decode", .blocks = blocks, .tokens = 8}),
            Code::invalid_argument);
  EXPECT_EQ(refused({.sequence = 1,
                     .attempt = kMostAttempt + 1,
                     .to = "decode",
                     .blocks = blocks,
                     .tokens = 8}),
            Code::invalid_argument);
  EXPECT_TRUE(first_.streamer
                  .stream_out({.sequence = 2,
                               .attempt = kMostAttempt,
                               .to = "decode",
                               .blocks = blocks,
                               .tokens = 8})
                  .ok());
  EXPECT_EQ(refused({.sequence = 1, .to = "nobody", .blocks = blocks, .tokens = 8}),
            Code::not_found);
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);
  EXPECT_EQ(receiver_.streamer.arrived().size(), 1U);
  EXPECT_EQ(
      receiver_.streamer.stream_in(1, receiver_.blocks_for(4), receiver_.stream()).error().code,
      Code::invalid_argument);
}

TEST_F(TwoToOne, SequencesAreAdmittedUpToABoundInAll) {
  const auto admit = [&](std::uint32_t sequences) {
    const auto admitted = receiver_.streamer.admit("prefill", sequences);
    return admitted.ok() ? std::nullopt : std::optional(admitted.error().code);
  };
  EXPECT_EQ(admit(65537), Code::invalid_argument);
  EXPECT_EQ(admit(65535), std::nullopt);
  EXPECT_EQ(admit(2), Code::invalid_argument);
  EXPECT_EQ(admit(1), std::nullopt) << "what was refused counts for nothing";
  EXPECT_EQ(admit(1), Code::invalid_argument);
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);
  ASSERT_EQ(receiver_.streamer.arrived().size(), 1U);
  EXPECT_EQ(admit(1), Code::invalid_argument) << "it is here, and not finished";
  EXPECT_FALSE(sure(receiver_.streamer.finish(2, receiver_.stream()))) << "of another";
  EXPECT_EQ(admit(1), Code::invalid_argument);
  EXPECT_TRUE(sure(receiver_.streamer.finish(1, receiver_.stream())));
  EXPECT_EQ(admit(1), std::nullopt);
  EXPECT_EQ(admit(1), Code::invalid_argument);
}

TEST(StreamerCreate, AnotherModelIsRefusedAtTheStart) {
  Pair pair(pipeline({2}, 1, 4), pipeline({1, 1}, 1, 4));
  Rank& rank = *pair.senders[0];
  const auto create = [&](const StreamerOptions& options) {
    auto made = Streamer::create(rank.carrier, rank.layout(), options);
    return made.ok() ? std::optional<Code>() : made.error().code;
  };
  StreamerOptions good{.group = "prefill",
                       .shards = pipeline({2}, 1, 4).shards,
                       .others = {{"decode", pipeline({1, 1}, 2, 8).shards}}};
  EXPECT_EQ(create(good), std::nullopt);
  StreamerOptions wrong = good;
  wrong.others[0].shards.shape.format = "fp8";
  EXPECT_EQ(create(wrong), Code::failed_precondition);
  wrong = good;
  wrong.others[0].shards = pipeline({1, 2}, 1, 4).shards;
  EXPECT_EQ(create(wrong), Code::failed_precondition);
  wrong = good;
  wrong.others.push_back(good.others[0]);
  EXPECT_EQ(create(wrong), Code::invalid_argument);
  wrong = good;
  wrong.group = "a group";
  EXPECT_EQ(create(wrong), Code::invalid_argument);
  wrong = good;
  wrong.rank = 1;
  EXPECT_EQ(create(wrong), Code::invalid_argument);
  wrong = good;
  wrong.shards = pipeline({2}, 2, 4).shards;  // the layout has all heads
  EXPECT_EQ(create(wrong), Code::invalid_argument);
}

}  // namespace
}  // namespace aqua::kv_stream
