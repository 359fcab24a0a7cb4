// SPDX-License-Identifier: Apache-2.0
// What the C ABI refuses of streams, by its exact code; nothing has changed then.
#include <array>
#include <atomic>
#include <string>

#include "tests/capi/kv_stream/streamer_fixture.hpp"

namespace aqua::test {
namespace {

class CapiStreamerRefusals : public CapiStreamer {
 protected:
  // Every call on each kind, as it would succeed or say what it lacks, by this handle.
  Calls calls_on(aqua_streamer streamer) {
    return {
        [=] { return aqua_streamer_free(streamer); },
        [=, this] { return aqua_streamer_get_status(streamer, &status_); },
        [=, this] { return aqua_streamer_wait(streamer, 0, &answer_); },
        [=, this] { return aqua_streamer_stream_out(streamer, &options_, &out_); },
        [=] { return aqua_streamer_admit(streamer, "decode", 1); },
        [=, this] { return aqua_streamer_arrived(streamer, nullptr, nullptr, &arrived_, &count_); },
        [=, this] { return aqua_streamer_stream_in(streamer, 7, blocks_.data(), 5, 0, &in_); },
        [=, this] { return aqua_streamer_finish(streamer, 7, 0, &answer_); },
        [=, this] { return aqua_streamer_superseded(streamer, &numbers_, &count_); },
        [=, this] { return aqua_streamer_cut_off(streamer, &cut_off_, &count_); }};
  }
  Calls calls_on(aqua_stream_out out) {
    return {[=] { return aqua_stream_out_free(out); },
            [=, this] { return aqua_stream_out_ready(out, &answer_); },
            [=, this] { return aqua_stream_out_set_blocks(out, blocks_.data(), blocks_.size()); },
            [=] { return aqua_stream_out_layer(out, 0, 0); },
            [=] { return aqua_stream_out_finish(out, nullptr, 0, 0); },
            [=, this] { return aqua_stream_out_copied(out, &answer_); },
            [=, this] { return aqua_stream_out_kept(out, &answer_); },
            [=, this] { return aqua_stream_out_landed(out, &answer_); },
            [=] { return aqua_stream_out_cancel(out); }};
  }
  Calls calls_on(aqua_stream_in in) {
    return {[=] { return aqua_stream_in_free(in); },
            [=, this] { return aqua_stream_in_done(in, &answer_); },
            [=] { return aqua_stream_in_wait(in); },
            [=, this] { return aqua_stream_in_layer_done(in, 0, &answer_); },
            [=] { return aqua_stream_in_stream_wait(in, 0, 0); }};
  }
  template <typename Handle>
  void expect_refused(Handle freed) {
    CapiFixture::expect_refused(freed, [this](Handle one) { return calls_on(one); });
  }
  [[nodiscard]] aqua_code open_code(const aqua_streamer_options& given) const {
    return open_code(given, prefill_.layout);
  }
  [[nodiscard]] aqua_code open_code(const aqua_streamer_options& given, aqua_layout layout) const {
    aqua_streamer streamer{};
    const aqua_code code = code_of(aqua_streamer_open(runtime_, layout, &given, &streamer));
    EXPECT_EQ(streamer.id, 0U) << "written although it was refused";
    return code;
  }

  const Blocks blocks_ = blocks_of(prefill_);
  const aqua_stream_out_options options_ = out_options(7, 1, blocks_);
  aqua_streamer_status status_ = AQUA_STREAMER_STATUS_INIT;
  aqua_stream_out out_{};
  aqua_stream_in in_{};
  int answer_ = 0;
  std::size_t count_ = 0;
  const aqua_arrived* const* arrived_ = nullptr;
  const std::uint64_t* numbers_ = nullptr;
  const aqua_cut_off* const* cut_off_ = nullptr;
};

TEST_F(CapiStreamerRefusals, HandlesThatAreNone) {
  const auto decode = open_decode_ranks();
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out out = begin(prefill, 7);
  send(prefill, out, 1);
  ASSERT_EQ(arrival(decode[0]).sequence, 7U);
  const Blocks into = blocks_of(decode_[0]);
  aqua_stream_in in{};
  ASSERT_EQ(code_of(aqua_streamer_stream_in(decode[0], 7, into.data(), into.size(), 0, &in)),
            AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_in_wait(in)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_in_free(in)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
  leave(prefill);
  leave(decode);
  expect_refused(prefill);
  expect_refused(out);
  expect_refused(in);
}

TEST_F(CapiStreamerRefusals, NullsForWhatIsWantedOrWritten) {
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out out = begin(prefill, 7);
  const aqua_streamer_options given = prefill_options();
  const std::array<aqua_error*, 22> refused{
      aqua_streamer_open(runtime_, prefill_.layout, nullptr, nullptr),
      aqua_streamer_open(runtime_, prefill_.layout, &given, nullptr),
      aqua_streamer_get_status(prefill, nullptr),
      aqua_streamer_wait(prefill, 0, nullptr),
      aqua_streamer_stream_out(prefill, nullptr, &out_),
      aqua_streamer_stream_out(prefill, &options_, nullptr),
      aqua_streamer_arrived(prefill, nullptr, nullptr, nullptr, &count_),
      aqua_streamer_arrived(prefill, nullptr, nullptr, &arrived_, nullptr),
      aqua_streamer_stream_in(prefill, 7, nullptr, 1, 0, &in_),
      aqua_streamer_stream_in(prefill, 7, blocks_.data(), 5, 0, nullptr),
      aqua_streamer_finish(prefill, 7, 0, nullptr),
      aqua_streamer_superseded(prefill, nullptr, &count_),
      aqua_streamer_superseded(prefill, &numbers_, nullptr),
      aqua_streamer_cut_off(prefill, nullptr, &count_),
      aqua_streamer_cut_off(prefill, &cut_off_, nullptr),
      aqua_stream_out_ready(out, nullptr),
      aqua_stream_out_finish(out, nullptr, 1, 0),
      aqua_stream_out_copied(out, nullptr),
      aqua_stream_out_kept(out, nullptr),
      aqua_stream_out_landed(out, nullptr),
      aqua_stream_in_done(in_, nullptr),
      aqua_stream_in_layer_done(in_, 0, nullptr),
  };
  for (std::size_t i = 0; i < refused.size(); ++i)
    EXPECT_EQ(code_of(refused.at(i)), AQUA_INVALID_ARGUMENT) << i;
  EXPECT_EQ(code_of(aqua_streamer_admit(prefill, nullptr, 1)), AQUA_NOT_FOUND);
  EXPECT_EQ(out_.id, 0U);
  EXPECT_EQ(status_of(prefill).giving, 2U) << "what was begun, for two ranks";
  EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
  leave(prefill);
}

TEST_F(CapiStreamerRefusals, OptionsThatCannotBe) {
  aqua_streamer_options given = prefill_options();
  const auto refused = [&](const char* what, aqua_code code = AQUA_INVALID_ARGUMENT) {
    EXPECT_EQ(open_code(given), code) << what;
    given = prefill_options();
  };
  given.struct_size = 3;
  refused("a size");
  given.group = nullptr;
  refused("no group");
  given.group = "a b";
  refused("a group with a space");
  given.name = nullptr;
  refused("no name");
  given.shape = nullptr;
  refused("no shape");
  given.rank = 1;
  refused("a rank that there is not");
  given.parcel_bytes = 0;
  refused("parcels of no bytes");
  given.others = nullptr;
  refused("a list that is NULL");
  given.other_count = std::size_t{1} << 40;
  refused("a list that cannot be so long");
  const std::array<const aqua_stream_group*, 2> none{nullptr, nullptr};
  given.others = none.data();
  refused("a group that is NULL");
  const std::array<const aqua_stream_group*, 2> twice{&decode_group_, &decode_group_};
  given.others = twice.data();
  given.other_count = 2;
  refused("a group that is named twice");
  const std::string nobody = socket_ + ".none";
  given.keeper = nobody.c_str();
  refused("a keeper that is none", AQUA_UNAVAILABLE);

  aqua_parallelism dealt = AQUA_PARALLELISM_INIT;
  const std::array<std::uint32_t, 2> stages{1, 2};
  given.parallelism = &dealt;
  dealt.stage_layer_count = 2;
  refused("stages that are NULL");
  dealt.stage_layers = stages.data();
  given.parallelism = &dealt;
  refused("stages that do not add up");
  dealt.stage_layer_count = std::size_t{1} << 40;
  given.parallelism = &dealt;
  refused("so many stages");
  dealt = AQUA_PARALLELISM_INIT;
  dealt.head_count = 1;
  given.parallelism = &dealt;
  refused("heads that are NULL");
  dealt = AQUA_PARALLELISM_INIT;
  dealt.tensor_ranks = 3;
  given.parallelism = &dealt;
  refused("heads that ranks do not divide");

  aqua_kv_shape other = prefill_shape_;
  given.shape = &other;
  other.struct_size = 3;
  refused("a shape of another size");
  other = decode_shape_;
  other.format = "other";
  aqua_stream_group stranger = decode_group_;
  stranger.shape = &other;
  const aqua_stream_group* const strangers = &stranger;
  given.others = &strangers;
  refused("a group with another model", AQUA_FAILED_PRECONDITION);

  EXPECT_EQ(open_code(given, decode_[0].layout), AQUA_INVALID_ARGUMENT) << "another rank's layout";
  EXPECT_EQ(open_code(given, aqua_layout{}), AQUA_INVALID_ARGUMENT);
  leave(open_prefill());  // what is wrong in none of these ways
}

TEST_F(CapiStreamerRefusals, SequencesThatCannotBeStreamedOut) {
  const aqua_streamer prefill = open_prefill();
  aqua_stream_out_options given = options_;
  const auto refused = [&](const char* what, aqua_code code = AQUA_INVALID_ARGUMENT) {
    EXPECT_EQ(code_of(aqua_streamer_stream_out(prefill, &given, &out_)), code) << what;
    given = options_;
  };
  given.struct_size = 3;
  refused("a size");
  given.to = "nobody";
  refused("no such group", AQUA_NOT_FOUND);
  given.tokens = 0;
  refused("no tokens");
  given.tokens = kTokens + 1;
  refused("more tokens than the blocks have");
  given.attempt = 0;
  refused("attempt 0");
  given.attempt = (1U << 25) + 1;
  refused("an attempt whose turn cannot be");
  given.blocks = nullptr;
  refused("blocks that are NULL");
  given.block_count = kBlocks + 1;  // the list is shorter than it says
  refused("more blocks than there are");
  const Blocks twice{1, 1, 2, 3, 4}, beyond{1, 2, 3, 4, kBlocks};
  given.blocks = twice.data();
  refused("a block twice");
  given.blocks = beyond.data();
  refused("a block that is none");
  EXPECT_EQ(out_.id, 0U);
  EXPECT_EQ(status_of(prefill).giving, 0U);
  leave(prefill);
}

TEST_F(CapiStreamerRefusals, WhatCannotBeSaidOfASequence) {
  const auto decode = open_decode_ranks();
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out out = begin(prefill, 7);
  ASSERT_EQ(until_ready(prefill, out), AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_out_layer(out, kLayers, 0)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_stream_out_layer(out, 0, kNoStream)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_stream_out_finish(out, nullptr, 0, 0)), AQUA_FAILED_PRECONDITION);
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    EXPECT_EQ(code_of(aqua_stream_out_layer(out, layer, 0)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_stream_out_layer(out, layer, 0)), AQUA_INVALID_ARGUMENT) << "twice";
  }
  const std::string words(AQUA_MAX_WORDS_BYTES + 1, 'w');
  EXPECT_EQ(code_of(aqua_stream_out_finish(out, words.data(), words.size(), 0)),
            AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_stream_out_finish(out, words.data(), AQUA_MAX_WORDS_BYTES, 0)), AQUA_OK)
      << "the longest that can be";
  EXPECT_EQ(code_of(aqua_stream_out_finish(out, nullptr, 0, 0)), AQUA_FAILED_PRECONDITION);

  const aqua_streamer one = decode[0];
  const Blocks into = blocks_of(decode_[0]);
  const auto stream_in = [&](std::uint64_t sequence, const Blocks& blocks, std::size_t count,
                             aqua_stream stream) {
    return code_of(aqua_streamer_stream_in(one, sequence, blocks.data(), count, stream, &in_));
  };
  EXPECT_EQ(stream_in(7, into, into.size(), 0), AQUA_NOT_FOUND) << "it was not told yet";
  const aqua_arrived arrived = arrival(one);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(arrived.words_bytes, std::size_t{AQUA_MAX_WORDS_BYTES});
  EXPECT_EQ(stream_in(8, into, into.size(), 0), AQUA_NOT_FOUND);
  EXPECT_EQ(stream_in(7, into, into.size() - 1, 0), AQUA_INVALID_ARGUMENT) << "too few blocks";
  EXPECT_EQ(stream_in(7, into, kBlocks + 1, 0), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(stream_in(7, Blocks{1, 1, 2}, 3, 0), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(stream_in(7, into, into.size(), kNoStream), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(in_.id, 0U);
  EXPECT_EQ(code_of(aqua_streamer_finish(one, 7, kNoStream, &answer_)), AQUA_INVALID_ARGUMENT);
  answer_ = 1;
  EXPECT_EQ(code_of(aqua_streamer_finish(one, 8, kNoStream, &answer_)), AQUA_OK);
  EXPECT_EQ(answer_, 0) << "nothing had arrived for the stream's work to be on";
  EXPECT_EQ(code_of(aqua_streamer_admit(one, "prefill", 65537)), AQUA_INVALID_ARGUMENT);
  std::atomic<bool> may_arrive{false};  // the copies are behind this kernel
  const auto hold = [](void* user) { static_cast<std::atomic<bool>*>(user)->wait(false); };
  ASSERT_EQ(code_of(aqua_emulated_launch(runtime_, 0, hold, &may_arrive)), AQUA_OK);
  EXPECT_EQ(stream_in(7, into, into.size(), 0), AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_in_layer_done(in_, kLayers, &answer_)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_stream_in_stream_wait(in_, 0, kLayers)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_stream_in_stream_wait(in_, kNoStream, 0)), AQUA_INVALID_ARGUMENT);
  may_arrive = true;
  may_arrive.notify_all();
  EXPECT_EQ(code_of(aqua_stream_in_wait(in_)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_in_free(in_)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
  leave(prefill);
  leave(decode);
}

TEST_F(CapiStreamerRefusals, AKernelThatFreesAStreamOrItsStreamer) {
  struct Freed {
    aqua_streamer streamer;
    aqua_stream_out out;
    aqua_code of_streamer = AQUA_OK, of_out = AQUA_OK;
  } freed{open_prefill(), {}};
  freed.out = begin(freed.streamer, 7);
  const auto kernel = [](void* user) {
    auto& told = *static_cast<Freed*>(user);
    told.of_out = code_of(aqua_stream_out_free(told.out));
    told.of_streamer = code_of(aqua_streamer_free(told.streamer));
  };
  ASSERT_EQ(code_of(aqua_emulated_launch(runtime_, 0, kernel, &freed)), AQUA_OK);
  ASSERT_EQ(code_of(aqua_emulated_synchronize(runtime_, 0)), AQUA_OK);
  EXPECT_EQ(freed.of_out, AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(freed.of_streamer, AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(code_of(aqua_stream_out_free(freed.out)), AQUA_OK);
  leave(freed.streamer);
}

}  // namespace
}  // namespace aqua::test
