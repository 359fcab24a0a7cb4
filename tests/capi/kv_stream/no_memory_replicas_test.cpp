// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on replicas makes is made to fail. The call says so; from then on the
// object is of use, or says that it is none, and what the keeper has is there still.
#include "tests/capi/fail_each.hpp"
#include "tests/capi/kv_stream/replicas_fixture.hpp"

namespace aqua::test {
namespace {

using NoMemoryReplicas = CapiReplicas;

TEST_F(NoMemoryReplicas, WhatTheyTell) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());
  const aqua_replicator replicator = replicate();
  freed(aqua_replicator_seal(replicator));
  step(replicator, cache_, 8, ids, 0, cache_.blocks(20));  // which is not protected
  const aqua_replica_reader reader = open_reader();
  aqua_replicator_status status = AQUA_REPLICATOR_STATUS_INIT;
  fail_each("aqua_replicator_get_status",
            [&] { return aqua_replicator_get_status(replicator, &status); });
  const std::uint64_t* sequences = nullptr;
  std::size_t count = 0;
  fail_each("aqua_replicator_unprotected",
            [&] { return aqua_replicator_unprotected(replicator, &sequences, &count); });
  std::uint32_t tokens = 0;
  fail_each("aqua_replica_reader_get_watermark", [&] {
    return aqua_replica_reader_get_watermark(reader, 7, ids.data(), ids.size(), 20, &tokens);
  });
  EXPECT_EQ(tokens, 20U);
  leave(reader);
  leave(replicator);
}

TEST_F(NoMemoryReplicas, AStep) {
  aqua_replicator replicator = replicate();
  const Ids ids = ids_of(1, 20);
  const Blocks blocks = cache_.blocks(20);
  aqua_written_tokens given = written(7, ids, 0, blocks);
  const aqua_written_tokens* const list = &given;
  aqua_ticket ticket{};
  fail_each(
      "aqua_replicator_step",
      [&] { return aqua_replicator_step(replicator, &list, 1, 0, &ticket); },
      [&] { ++given.sequence; },
      [&](bool made) {
        if (made) freed(aqua_ticket_free(ticket));
        const aqua_code code = code_of(aqua_replicator_flush(replicator, 0));
        EXPECT_TRUE(code == AQUA_OK || (!made && code == AQUA_ABORTED)) << aqua_code_name(code);
        if (code == AQUA_OK) return;
        leave(replicator);
        replicator = replicate();
      });
  leave(replicator);
}

TEST_F(NoMemoryReplicas, WhatIsRestoredComesToTheNextReader) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());
  const Blocks blocks = other_.blocks(24);
  const aqua_restore_options given = restoring(7, ids, 20, blocks);
  aqua_replica_reader reader = open_reader();
  aqua_ticket ticket{};
  fail_each(
      "aqua_replica_reader_restore",
      [&] { return aqua_replica_reader_restore(reader, other_.layout, &given, 0, &ticket); }, {},
      [&](bool made) {
        if (made) freed(aqua_ticket_wait(ticket));
        if (made) freed(aqua_ticket_free(ticket));
        std::uint32_t tokens = 0;
        const aqua_code code = code_of(
            aqua_replica_reader_get_watermark(reader, 7, ids.data(), ids.size(), 24, &tokens));
        EXPECT_TRUE(code == AQUA_OK || (!made && code == AQUA_ABORTED)) << aqua_code_name(code);
        if (code == AQUA_OK) return;
        leave(reader);
        reader = open_reader();
      });
  EXPECT_EQ(wrong_bytes(other_, ids, blocks), 0U);
  leave(reader);
}

}  // namespace
}  // namespace aqua::test
