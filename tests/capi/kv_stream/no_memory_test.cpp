// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on a streamer makes is made to fail. The call says so; from then on
// the streamer is of use, or says that it is none and another one has what it had.
#include "tests/capi/fail_each.hpp"
#include "tests/capi/kv_stream/streamer_fixture.hpp"

namespace aqua::test {
namespace {

using NoMemoryStreamer = CapiStreamer;

TEST_F(NoMemoryStreamer, WhatAStreamerTells) {
  const aqua_streamer prefill = open_prefill();
  aqua_streamer_status status = AQUA_STREAMER_STATUS_INIT;
  fail_each("aqua_streamer_get_status", [&] { return aqua_streamer_get_status(prefill, &status); });
  leave(prefill);
}

TEST_F(NoMemoryStreamer, ASequenceThatIsStreamedOut) {
  aqua_streamer prefill = open_prefill();
  const Blocks blocks = blocks_of(prefill_);
  aqua_stream_out_options options = out_options(7, 0, blocks);
  aqua_stream_out out{};
  fail_each(
      "aqua_streamer_stream_out", [&] { return aqua_streamer_stream_out(prefill, &options, &out); },
      [&] { ++options.attempt; },
      [&](bool made) {
        if (made) freed(aqua_stream_out_free(out));
        const aqua_code code = code_of(aqua_streamer_admit(prefill, "decode", 1));
        EXPECT_TRUE(code == AQUA_OK || (!made && code == AQUA_ABORTED)) << aqua_code_name(code);
        if (code == AQUA_OK) return;
        leave(prefill);
        prefill = open_prefill();
      });
  leave(prefill);
}

TEST_F(NoMemoryStreamer, WhatHasArrivedComesToItsSuccessor) {
  std::array<aqua_streamer, 2> decode{open_decode(0), open_decode(1)};
  for (const aqua_streamer streamer : decode) admit(streamer, 1);
  const aqua_streamer prefill = open_prefill();
  const aqua_stream_out out = begin(prefill, 7);
  send(prefill, out, 3);
  const aqua_arrived* const* list = nullptr;
  std::size_t count = 0;
  // Asks until it has come: what is at hand is fetched in the background once it was asked for.
  const auto arrive = [&]() -> aqua_error* {
    for (count = 0;;) {
      aqua_error* const error = aqua_streamer_arrived(decode[0], nullptr, nullptr, &list, &count);
      if (error != nullptr || count != 0) return error;
      int news = 0;
      freed(aqua_streamer_wait(decode[0], kLongMs, &news));
      EXPECT_EQ(news, 1) << "nothing came";
    }
  };
  fail_each("aqua_streamer_arrived", arrive, [&] {
    leave(decode[0]);
    decode[0] = open_decode(0);
  });
  leave(decode[0]);
  decode[0] = open_decode(0);
  EXPECT_EQ(arrival(decode[0]).sequence, 7U);
  const Blocks into = blocks_of(decode_[0]);
  aqua_stream_in in{};
  ASSERT_EQ(code_of(aqua_streamer_stream_in(decode[0], 7, into.data(), into.size(), 0, &in)),
            AQUA_OK);
  EXPECT_EQ(code_of(aqua_stream_in_wait(in)), AQUA_OK);
  EXPECT_EQ(wrong_bytes(decode_[0], 3), 0U);
  freed(aqua_stream_in_free(in));
  freed(aqua_stream_out_free(out));
  leave(prefill);
  leave(decode);
}

}  // namespace
}  // namespace aqua::test
