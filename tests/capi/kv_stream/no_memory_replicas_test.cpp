// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on replicas makes is made to fail. The call says so; from then on the
// object is of use, or says that it is none, and what the keeper has is there still.
#include "tests/capi/fail_each.hpp"
#include "tests/capi/kv_stream/replicas_fixture.hpp"

namespace aqua::test {
namespace {

// Copies are slow, so that they are under way when the call that posted them fails.
class NoMemoryReplicas : public CapiReplicas {
 protected:
  NoMemoryReplicas() : CapiReplicas(std::uint64_t{4} << 20) {}
};

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
  Ids ids = ids_of(6, 20);
  const Blocks blocks = cache_.blocks(20), others = other_.blocks(24);
  aqua_replicator replicator = replicate();
  aqua_written_tokens given = written(6, ids, 0, blocks);
  const aqua_written_tokens* const list = &given;
  aqua_ticket ticket{};
  const auto call = [&] { return aqua_replicator_step(replicator, &list, 1, 0, &ticket); };
  // Other bytes each time: neither a pack nor the blocks have them from the time before.
  const auto prepare = [&] {
    ++given.sequence;
    ids = ids_of(static_cast<std::uint32_t>(given.sequence), 20);
    given.ids = ids.data();
    compute(cache_, ids, 0, blocks);
    EXPECT_NE(wrong_bytes(other_, ids, others), 0U);
  };
  const auto check = [&](bool made) {
    const aqua_code code = code_of(aqua_replicator_flush(replicator, 0));
    EXPECT_TRUE(code == AQUA_OK || (!made && code == AQUA_ABORTED)) << aqua_code_name(code);
    if (code != AQUA_OK) {
      leave(replicator);
      replicator = replicate();
    }
    if (!made) freed(call());  // anew, from its first token
    freed(aqua_ticket_wait(ticket));
    freed(aqua_ticket_free(ticket));
    await(replicator, given.sequence, 20);
    const aqua_replica_reader reader = open_reader();
    restore(reader, other_, given.sequence, ids, 20, others);
    EXPECT_EQ(wrong_bytes(other_, ids, others), 0U) << "sequence " << given.sequence;
    leave(reader);
    freed(aqua_replicator_finish(replicator, given.sequence));
  };
  for (const Failing how : {Failing::once, Failing::from_then_on}) {
    fail_each("aqua_replicator_step", call, prepare, check, AQUA_RESOURCE_EXHAUSTED, 1, how);
  }
  leave(replicator);
}

TEST_F(NoMemoryReplicas, WhatIsRestoredComesToTheNextReader) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());
  const Blocks blocks = other_.blocks(24);
  const aqua_restore_options given = restoring(7, ids, 20, blocks);
  aqua_replica_reader reader = open_reader();
  aqua_ticket ticket{};
  const auto call = [&] {
    return aqua_replica_reader_restore(reader, other_.layout, &given, 0, &ticket);
  };
  const auto check = [&](bool made) {
    std::uint32_t tokens = 0;
    const aqua_code code =
        code_of(aqua_replica_reader_get_watermark(reader, 7, ids.data(), ids.size(), 24, &tokens));
    EXPECT_TRUE(code == AQUA_OK || (!made && code == AQUA_ABORTED)) << aqua_code_name(code);
    if (code != AQUA_OK) {
      leave(reader);
      reader = open_reader();
    }
    if (!made) freed(call());
    freed(aqua_ticket_wait(ticket));
    freed(aqua_ticket_free(ticket));
    EXPECT_EQ(wrong_bytes(other_, ids, blocks), 0U);
  };
  const auto prepare = [&] {
    compute(other_, ids_of(2, 20), 0, blocks);
    EXPECT_NE(wrong_bytes(other_, ids, blocks), 0U);
  };
  for (const Failing how : {Failing::once, Failing::from_then_on})
    fail_each("aqua_replica_reader_restore", call, prepare, check, AQUA_RESOURCE_EXHAUSTED, 1, how);
  leave(reader);
}

}  // namespace
}  // namespace aqua::test
