// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on a streamer makes is made to fail. The call says so; from then on
// the streamer is of use, or says that another one is to be opened.
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

}  // namespace
}  // namespace aqua::test
