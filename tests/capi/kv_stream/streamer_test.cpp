// SPDX-License-Identifier: Apache-2.0
// Streams over the C ABI, with a real keeper: from one rank to two, whose blocks have another size
// and another order.
#include <atomic>
#include <cstring>
#include <string>

#include "tests/capi/kv_stream/streamer_fixture.hpp"

namespace aqua::test {
namespace {

TEST_F(CapiStreamer, FromOneRankToTwoEachByteIsWhereItBelongs) {
  const aqua_streamer prefill = open_prefill();
  std::array<aqua_streamer, 2> decode{open_decode(0), open_decode(1)};
  const aqua_stream_out out = begin(prefill, 7);
  int answer = 7;
  EXPECT_EQ(code_of(aqua_stream_out_ready(out, &answer)), AQUA_OK);
  EXPECT_EQ(answer, 0) << "nobody has room for it";
  EXPECT_EQ(code_of(aqua_stream_out_layer(out, 0, 0)), AQUA_FAILED_PRECONDITION);
  for (const aqua_streamer streamer : decode) admit(streamer, 1);
  send(prefill, out, 5);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(code_of(aqua_stream_out_copied(out, &answer)), AQUA_OK);
  EXPECT_EQ(answer, 1);
  EXPECT_EQ(status_of(prefill).giving, 2U);

  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const aqua_arrived arrived = arrival(decode.at(rank));
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(arrived.sequence, 7U);
    EXPECT_EQ(arrived.attempt, 1U);
    EXPECT_EQ(arrived.tokens, kTokens);
    EXPECT_EQ(std::string(static_cast<const char*>(arrived.words), arrived.words_bytes),
              std::string("a\0b", 3));
    EXPECT_EQ(code_of(aqua_stream_out_landed(out, &answer)), AQUA_OK);
    EXPECT_EQ(answer, 0);
    const Blocks blocks = blocks_of(decode_.at(rank));
    aqua_stream_in in{};
    ASSERT_EQ(
        code_of(aqua_streamer_stream_in(decode.at(rank), 7, blocks.data(), blocks.size(), 0, &in)),
        AQUA_OK);
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      EXPECT_EQ(code_of(aqua_stream_in_stream_wait(in, 0, layer)), AQUA_OK);
    }
    EXPECT_EQ(wrong_bytes(decode_.at(rank), 5), 0U);
    EXPECT_NE(wrong_bytes(decode_.at(rank), 6), 0U) << "the comparison can fail";
    EXPECT_EQ(code_of(aqua_stream_in_wait(in)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_stream_in_layer_done(in, kLayers - 1, &answer)), AQUA_OK);
    EXPECT_EQ(answer, 1);
    EXPECT_EQ(code_of(aqua_stream_in_done(in, &answer)), AQUA_OK);
    EXPECT_EQ(answer, 1);
    EXPECT_EQ(code_of(aqua_stream_in_free(in)), AQUA_OK);
  }
  EXPECT_EQ(until(prefill, [&](int* landed) { return aqua_stream_out_landed(out, landed); }),
            AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
  for (const aqua_streamer streamer : decode) {
    EXPECT_EQ(status_of(streamer).taken, 1U);
    EXPECT_EQ(code_of(aqua_streamer_finish(streamer, 7, 0, &answer)), AQUA_OK);
    EXPECT_EQ(answer, 1) << "it had arrived";
    const aqua_streamer_status status = status_of(streamer);
    EXPECT_EQ(status.taken, 0U);
    EXPECT_EQ(status.connected, 1U);
    EXPECT_EQ(status.refused, 0U);
    EXPECT_STREQ(status.error, "");
    leave(streamer);
  }
  leave(prefill);
}

TEST_F(CapiStreamer, WhatIsFinishedArrivesAlsoIfItsSenderIsGone) {
  const auto decode = open_decode_ranks();
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out out = begin(prefill, 7);
  send(prefill, out, 3);
  EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
  leave(prefill);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(arrival(decode.at(rank)).sequence, 7U);
    const Blocks blocks = blocks_of(decode_.at(rank));
    aqua_stream_in in{};
    ASSERT_EQ(
        code_of(aqua_streamer_stream_in(decode.at(rank), 7, blocks.data(), blocks.size(), 0, &in)),
        AQUA_OK);
    EXPECT_EQ(code_of(aqua_stream_in_wait(in)), AQUA_OK);
    EXPECT_EQ(wrong_bytes(decode_.at(rank), 3), 0U);
    EXPECT_EQ(code_of(aqua_stream_in_free(in)), AQUA_OK);
    leave(decode.at(rank));
  }
}

TEST_F(CapiStreamer, WhatIsTakenBackIsStreamedAsAnotherAttempt) {
  const auto decode = open_decode_ranks();
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out first = begin(prefill, 7);
  ASSERT_EQ(until_ready(prefill, first), AQUA_OK);
  ASSERT_EQ(code_of(aqua_stream_out_layer(first, 0, 0)), AQUA_OK);
  ASSERT_EQ(code_of(aqua_stream_out_cancel(first)), AQUA_OK);
  int answer = 0;
  EXPECT_EQ(code_of(aqua_stream_out_ready(first, &answer)), AQUA_CANCELLED);
  EXPECT_EQ(code_of(aqua_stream_out_layer(first, 1, 0)), AQUA_CANCELLED);
  ASSERT_EQ(code_of(aqua_emulated_synchronize(runtime_, 0)), AQUA_OK);
  EXPECT_EQ(until(prefill, [&](int* copied) { return aqua_stream_out_copied(first, copied); }),
            AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_out_free(first)), AQUA_OK);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const aqua_cut_off* const* told = nullptr;
    std::size_t count = 0;
    ASSERT_EQ(until(decode.at(rank),
                    [&](int* is_told) {
                      aqua_error* const error =
                          aqua_streamer_cut_off(decode.at(rank), &told, &count);
                      *is_told = count == 0 ? 0 : 1;
                      return error;
                    }),
              AQUA_OK);
    ASSERT_EQ(count, 1U);
    EXPECT_EQ(told[0]->sequence, 7U);
    EXPECT_EQ(told[0]->attempt, 1U);
  }

  const aqua_stream_out again = begin(prefill, 7);
  EXPECT_EQ(until_ready(prefill, again), AQUA_ABORTED) << "there was such an attempt";
  EXPECT_EQ(code_of(aqua_stream_out_free(again)), AQUA_OK);
  const aqua_stream_out second = begin(prefill, 7, 2);
  send(prefill, second, 8);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(arrival(decode.at(rank)).attempt, 2U);
  }
  EXPECT_EQ(code_of(aqua_stream_out_free(second)), AQUA_OK);
  leave(prefill);
  leave(decode);
}

TEST_F(CapiStreamer, WhatIsTakenBackTellsWhenItsBlocksAreFree) {
  const auto decode = open_decode_ranks();
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out out = begin(prefill, 7);
  ASSERT_EQ(until_ready(prefill, out), AQUA_OK);
  std::atomic<bool> computed{false};
  const auto kernel = [](void* user) { static_cast<std::atomic<bool>*>(user)->wait(false); };
  EXPECT_EQ(code_of(aqua_emulated_launch(runtime_, 0, kernel, &computed)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_out_layer(out, 0, 0)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_out_cancel(out)), AQUA_OK);
  await_news(prefill);
  for (int news = 1; news != 0;) {  // all that is told of its being taken back
    EXPECT_EQ(code_of(aqua_streamer_wait(prefill, 100, &news)), AQUA_OK);
  }
  int copied = 1;
  EXPECT_EQ(code_of(aqua_stream_out_copied(out, &copied)), AQUA_OK);
  EXPECT_EQ(copied, 0) << "the copy is behind the kernel";
  computed = true;
  computed.notify_all();
  EXPECT_EQ(until(prefill, [&](int* answer) { return aqua_stream_out_copied(out, answer); }),
            AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
  leave(prefill);
  leave(decode);
}

TEST_F(CapiStreamer, WhatIsNotWantedIsGivenUpAndItsRoomIsThereForAnother) {
  const auto decode = open_decode_ranks();
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out ended = begin(prefill, 7);
  send(prefill, ended, 3);
  struct Asked {
    aqua_streamer streamer;
    std::size_t times = 0;
    aqua_code within = AQUA_OK;
    aqua_code freed = AQUA_OK;
  };
  const auto not_seven = [](void* user, std::uint64_t sequence) {
    auto& asked = *static_cast<Asked*>(user);
    ++asked.times;
    asked.within = code_of(aqua_streamer_admit(asked.streamer, "prefill", 1));
    asked.freed = code_of(aqua_streamer_free(asked.streamer));
    return sequence != 7 ? 1 : 0;
  };
  for (const aqua_streamer streamer : decode) {
    Asked asked{streamer};
    while (asked.times == 0) {
      const aqua_arrived* const* list = nullptr;
      std::size_t count = 0;
      ASSERT_EQ(code_of(aqua_streamer_arrived(streamer, not_seven, &asked, &list, &count)),
                AQUA_OK);
      EXPECT_EQ(count, 0U);
      if (asked.times == 0) await_news(streamer);
      ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_EQ(asked.within, AQUA_FAILED_PRECONDITION);
    EXPECT_EQ(asked.freed, AQUA_FAILED_PRECONDITION);
    EXPECT_EQ(status_of(streamer).taken, 0U);
  }
  const aqua_stream_out next = begin(prefill, 8);
  send(prefill, next, 4);
  for (const aqua_streamer streamer : decode) EXPECT_EQ(arrival(streamer).sequence, 8U);
  for (const aqua_stream_out out : {ended, next}) {
    EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
  }
  leave(prefill);
  leave(decode);
}

TEST_F(CapiStreamer, WhatAnotherAttemptOvertakesIsToldAndFinished) {
  const auto decode = open_decode_ranks();
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out first = begin(prefill, 7);
  send(prefill, first, 3);
  int answer = 1;
  EXPECT_EQ(code_of(aqua_streamer_finish(decode[0], 8, 0, &answer)), AQUA_OK);
  EXPECT_EQ(answer, 0) << "none of 8 had arrived";
  for (const aqua_streamer streamer : decode) ASSERT_EQ(arrival(streamer).attempt, 1U);
  const aqua_stream_out second = begin(prefill, 7, 2);
  for (const aqua_streamer streamer : decode) {
    const std::uint64_t* sequences = nullptr;
    std::size_t count = 0;
    while (count == 0) {
      ASSERT_EQ(code_of(aqua_streamer_superseded(streamer, &sequences, &count)), AQUA_OK);
      if (count == 0) await_news(streamer);
      ASSERT_FALSE(HasFatalFailure());
    }
    ASSERT_EQ(count, 1U);
    EXPECT_EQ(sequences[0], 7U);
    EXPECT_EQ(code_of(aqua_streamer_finish(streamer, 7, 0, &answer)), AQUA_OK);
    EXPECT_EQ(answer, 1);
    admit(streamer, 1);
  }
  send(prefill, second, 4);
  for (const aqua_streamer streamer : decode) EXPECT_EQ(arrival(streamer).attempt, 2U);
  for (const aqua_stream_out out : {first, second}) {
    EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
  }
  leave(prefill);
  leave(decode);
}

TEST_F(CapiStreamer, AStreamKeepsItsStreamerAndTheRuntimeOpen) {
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out out = begin(prefill, 7);
  leave(prefill);
  int answer = 7;
  EXPECT_EQ(code_of(aqua_stream_out_ready(out, &answer)), AQUA_OK);
  EXPECT_EQ(answer, 0);
  EXPECT_EQ(code_of(aqua_streamer_admit(prefill, "decode", 1)), AQUA_NOT_FOUND);
  aqua_error* const refused = aqua_runtime_close(runtime_);
  EXPECT_NE(std::strstr(aqua_error_message(refused), "1 streamers, 1 outgoing streams"), nullptr)
      << aqua_error_message(refused);
  EXPECT_EQ(code_of(refused), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
}

TEST_F(CapiStreamer, WithoutItsKeeperItSaysSo) {
  const aqua_streamer prefill = open_prefill();
  keeper_.kill();
  for (aqua_streamer_status status = status_of(prefill); status.connected != 0;
       status = status_of(prefill)) {
    await_news(prefill);
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_STRNE(status_of(prefill).keeper_error, "");
  const Blocks blocks = blocks_of(prefill_);
  const aqua_stream_out_options options = out_options(7, 1, blocks);
  aqua_stream_out out{};
  // It has two connections: until both have ended, what is begun is told so later.
  if (code_of(aqua_streamer_stream_out(prefill, &options, &out)) == AQUA_OK) {
    EXPECT_EQ(until_ready(prefill, out), AQUA_UNAVAILABLE);
    EXPECT_EQ(code_of(aqua_stream_out_free(out)), AQUA_OK);
  }
  EXPECT_EQ(code_of(aqua_streamer_stream_out(prefill, &options, &out)), AQUA_UNAVAILABLE);
  leave(prefill);
}

}  // namespace
}  // namespace aqua::test
