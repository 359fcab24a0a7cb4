// SPDX-License-Identifier: Apache-2.0
// Replicas over the C ABI, with a real keeper: what a stage has left is read into another one's
// cache, whose blocks have another size.
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "base/step.hpp"
#include "tests/capi/kv_stream/replicas_fixture.hpp"

namespace aqua::test {
namespace {

TEST_F(CapiReplicas, ASuccessorReadsEachByteAndGoesOnFromThere) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());

  const aqua_replica_reader reader = open_reader();
  EXPECT_EQ(status_of(reader).packs, 1U);
  const std::uint64_t* sequences = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(code_of(aqua_replica_reader_sequences(reader, &sequences, &count)), AQUA_OK);
  EXPECT_EQ(std::vector<std::uint64_t>(sequences, sequences + count),
            std::vector<std::uint64_t>{7});
  EXPECT_EQ(watermark(reader, 8, ids), 0U) << "nothing of it";
  EXPECT_EQ(watermark(reader, 7, ids), 20U);
  EXPECT_EQ(watermark(reader, 7, ids, 19), 0U) << "pieces are read whole";
  Ids delivered(ids.begin(), ids.begin() + 17);
  delivered.push_back(5);  // in place of what nobody has seen
  EXPECT_EQ(watermark(reader, 7, delivered), 17U);
  std::array<char, AQUA_MAX_SAMPLER_BYTES> state{};
  std::size_t state_bytes = 7;
  std::uint32_t behind = 7;
  const auto sampler = [&](const Ids& known) {
    return code_of(aqua_replica_reader_get_sampler(
        reader, 7, known.data(), known.size(), state.data(), state.size(), &state_bytes, &behind));
  };
  EXPECT_EQ(sampler(delivered), AQUA_OK);
  EXPECT_EQ(behind, 0U) << "it was behind tokens that nobody has seen";
  EXPECT_EQ(state_bytes, 0U);
  EXPECT_EQ(sampler(ids), AQUA_OK);
  EXPECT_EQ(behind, 20U);
  EXPECT_EQ(std::string(state.data(), state_bytes), "state");

  const Blocks blocks = other_.blocks(24, 3);
  restore(reader, other_, 7, ids, 20, blocks);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(wrong_bytes(other_, ids, blocks), 0U);
  EXPECT_NE(wrong_bytes(other_, ids_of(2, 20), blocks), 0U) << "the comparison can fail";

  aqua_replicator_options given = options();
  given.term = 2;
  const aqua_replicator successor = replicate(other_, given);
  ASSERT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_ALREADY_EXISTS);
  EXPECT_EQ(code_of(aqua_replica_reader_finish(reader, 0)), AQUA_OK);
  leave(reader);
  EXPECT_EQ(watermark(successor, 7), 20U) << "by what the dead one has left";
  EXPECT_EQ(status_of(successor).copied_bytes, 0U);
  Ids anew = ids;
  anew.push_back(5);
  step(successor, other_, 7, anew, 20, blocks);
  await(successor, 7, 21);
  ASSERT_FALSE(HasFatalFailure());
  const aqua_replica_reader next = open_reader(3);
  EXPECT_EQ(watermark(next, 7, anew), 21U);
  leave(next);
  EXPECT_EQ(code_of(aqua_replicator_finish(successor, 7)), AQUA_OK);
  EXPECT_EQ(status_of(successor).packs_kept, 0U);
  leave(successor);
  EXPECT_EQ(kept(), 0U) << "nobody needs it any more";
}

TEST_F(CapiReplicas, WhatWasNotRestoredIsDropped) {
  const Ids ids = ids_of(1, 20), other = ids_of(2, 20);
  leave_behind(7, ids, options());
  leave_behind(8, other, options());
  ASSERT_EQ(kept(), 2U);
  const aqua_replica_reader reader = open_reader();
  restore(reader, other_, 7, ids, 20, other_.blocks(24));
  EXPECT_EQ(code_of(aqua_replica_reader_finish(reader, kNoStream)), AQUA_INVALID_ARGUMENT);
  restore(reader, other_, 7, ids, 20, other_.blocks(24));  // a refused finish has ended nothing
  EXPECT_EQ(code_of(aqua_replica_reader_finish(reader, 0)), AQUA_OK);
  const Blocks blocks = other_.blocks(24);
  const aqua_restore_options late = restoring(8, other, 20, blocks);
  EXPECT_EQ(code_of(aqua_replica_reader_restore(reader, other_.layout, &late, 0, nullptr)),
            AQUA_FAILED_PRECONDITION);
  leave(reader);
  EXPECT_EQ(kept(), 1U);
}

TEST_F(CapiReplicas, WhatARecoveryWouldNotFindIsCopiedAnew) {
  const Ids ids = ids_of(1, 20);
  owner_.life = "a";
  aqua_replicator_options former = options();
  former.term = 5;
  leave_behind(7, ids, former);
  const aqua_replica_reader reader = open_reader(6);
  const Blocks blocks = other_.blocks(24);
  restore(reader, other_, 7, ids, 20, blocks);
  owner_.life = "b";
  const aqua_replicator successor = replicate(other_, options());
  ASSERT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_OK);
  EXPECT_EQ(watermark(successor, 7), 0U) << "what the other life has left counts for nothing";
  await(successor, 7, 20);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(status_of(successor).copied_bytes, ids.size() * kPlanes * kRowBytes);
  leave(reader);
  const aqua_replica_reader own = open_reader(2);
  EXPECT_EQ(watermark(own, 7, ids), 20U);
  EXPECT_EQ(status_of(own).other_lives, 1U);
  EXPECT_EQ(code_of(aqua_replica_reader_drop_other_lives(own)), AQUA_OK);
  EXPECT_EQ(status_of(own).other_lives, 0U);
  leave(own);
  leave(successor);
  EXPECT_EQ(kept(), 1U);
}

TEST_F(CapiReplicas, OfAnotherShapeItIsCopiedAnew) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());
  const aqua_replica_reader reader = open_reader();
  const Blocks blocks = other_.blocks(24);
  restore(reader, other_, 7, ids, 20, blocks);
  aqua_replicator_options given = options();
  given.shape = "another";
  given.term = 2;
  const aqua_replicator successor = replicate(other_, given);
  ASSERT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_OK);
  EXPECT_EQ(watermark(successor, 7), 0U)
      << "who reads the other shape refuses the dead one's packs";
  await(successor, 7, 20);
  ASSERT_FALSE(HasFatalFailure());
  leave(reader);
  aqua_replica_reader_options reading = reader_options(3);
  reading.shape = "another";
  const aqua_replica_reader next = open_reader(reading);
  EXPECT_EQ(watermark(next, 7, ids), 20U);
  EXPECT_EQ(status_of(next).refused, 1U);
  leave(next);
  leave(successor);
}

TEST_F(CapiReplicas, WhatAKeeperHadThatDiedSinceIsCopiedAnewToTheNextOne) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());
  const aqua_replica_reader reader = open_reader();
  const Blocks blocks = other_.blocks(24);
  restore(reader, other_, 7, ids, 20, blocks);
  keeper_.kill();
  keeper_.start();
  aqua_replicator_options given = options();
  given.term = 2;
  const aqua_replicator successor = replicate(other_, given);
  ASSERT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_OK);
  EXPECT_EQ(watermark(successor, 7), 0U) << "at the same socket, and it has nothing";
  await(successor, 7, 20);
  ASSERT_FALSE(HasFatalFailure());
  leave(reader);
  leave(successor);
  const aqua_replica_reader next = open_reader(3);
  const Blocks others = other_.blocks(24, 11);
  ASSERT_EQ(watermark(next, 7, ids), 20U);
  restore(next, other_, 7, ids, 20, others);
  EXPECT_EQ(wrong_bytes(other_, ids, others), 0U);
  leave(next);
}

TEST_F(CapiReplicas, WhatWasRestoredIntoAnotherCacheIsRefused) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());
  const aqua_replica_reader reader = open_reader();
  restore(reader, cache_, 7, ids, 20, cache_.blocks(20));  // numbers that the other one has, too
  aqua_replicator_options given = options();
  given.term = 2;
  const aqua_replicator successor = replicate(other_, given);
  EXPECT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(status_of(successor).sequences, 0U);
  restore(reader, other_, 7, ids, 20, other_.blocks(24));
  EXPECT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_OK);
  EXPECT_EQ(watermark(successor, 7), 20U);
  leave(reader);
  leave(successor);
}

TEST_F(CapiReplicas, OfNoTokensNothingIsAdopted) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());
  const aqua_replica_reader reader = open_reader();
  restore(reader, other_, 7, ids, 0, other_.blocks(24));
  const aqua_replicator successor = replicate(other_, options());
  EXPECT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_NOT_FOUND);
  leave(reader);
  leave(successor);
}

TEST_F(CapiReplicas, ARefusedRestoreChangesNothing) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());
  const aqua_replica_reader reader = open_reader();
  const Blocks blocks = other_.blocks(24);
  restore(reader, other_, 7, ids, 20, blocks);
  const aqua_restore_options given = restoring(7, ids, 20, blocks);
  EXPECT_EQ(code_of(aqua_replica_reader_restore(reader, other_.layout, &given, kNoStream, nullptr)),
            AQUA_INVALID_ARGUMENT);
  aqua_replicator_options succeeding = options();
  succeeding.term = 2;
  const aqua_replicator successor = replicate(other_, succeeding);
  EXPECT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_OK);
  leave(reader);
  leave(successor);
}

TEST_F(CapiReplicas, WhatWasRestoredIsAdoptedWhileItsReaderWaitsForTheKeeper) {
  const Ids ids = ids_of(1, 20);
  leave_behind(7, ids, options());
  const aqua_replica_reader reader = open_reader();
  restore(reader, other_, 7, ids, 20, other_.blocks(24));
  aqua_replicator_options given = options();
  given.term = 2;
  const aqua_replicator successor = replicate(other_, given);
  leave_behind(8, ids, options());  // which finish() opens
  static std::atomic<bool> opening, held, finished;
  opening = finished = false;
  held = true;
  step_hook = [](const char* name) {
    if (name != std::string_view("open")) return;
    opening = true;
    opening.notify_all();
    held.wait(true);
  };
  std::thread finishing([&] {
    EXPECT_EQ(code_of(aqua_replica_reader_finish(reader, 0)), AQUA_OK);
    finished = true;
  });
  opening.wait(false);
  EXPECT_EQ(code_of(aqua_replicator_adopt(successor, reader, 7)), AQUA_OK);
  EXPECT_FALSE(finished);
  held = false;
  held.notify_all();
  finishing.join();
  step_hook = nullptr;
  leave(reader);
  leave(successor);
  EXPECT_EQ(kept(), 1U);
}

TEST_F(CapiReplicas, WhatIsSealedCommitsNothingUntilItResumesInAnotherTerm) {
  const Ids ids = ids_of(1, 30);
  const Blocks blocks = cache_.blocks(32);
  const aqua_replicator replicator = replicate();
  step(replicator, cache_, 7, Ids(ids.begin(), ids.begin() + 10), 0, blocks);
  await(replicator, 7, 10);
  EXPECT_EQ(code_of(aqua_replicator_seal(replicator)), AQUA_OK);
  step(replicator, cache_, 7, ids, 10, blocks);
  EXPECT_EQ(code_of(aqua_replicator_flush(replicator, 0)), AQUA_OK);
  const std::uint64_t* unprotected = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(code_of(aqua_replicator_unprotected(replicator, &unprotected, &count)), AQUA_OK);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(unprotected[0], 7U);
  EXPECT_EQ(status_of(replicator).unprotected, 1U);
  EXPECT_EQ(status_of(replicator).most_lag, 20U);
  EXPECT_EQ(watermark(replicator, 7), 10U);
  EXPECT_EQ(code_of(aqua_replicator_resume(replicator, 5)), AQUA_OK);
  await(replicator, 7, 30);
  ASSERT_EQ(code_of(aqua_replicator_unprotected(replicator, &unprotected, &count)), AQUA_OK);
  EXPECT_EQ(count, 0U);
  const aqua_replica_reader_options old = reader_options(4);
  aqua_replica_reader reader{};
  EXPECT_EQ(code_of(aqua_replica_reader_open(runtime_, &old, &reader)), AQUA_ABORTED)
      << "term 5 has begun";
  EXPECT_EQ(reader.id, 0U);
  leave(replicator);
}

TEST_F(CapiReplicas, OfASequenceWithoutBlocksNothingIsCopiedAndItsReplicaStays) {
  const Ids ids = ids_of(1, 10), more = ids_of(1, 30);
  const Blocks blocks = cache_.blocks(32);
  const aqua_replicator replicator = replicate();
  step(replicator, cache_, 7, ids, 0, blocks);
  await(replicator, 7, 10);
  EXPECT_EQ(code_of(aqua_replicator_seal(replicator)), AQUA_OK);
  step(replicator, cache_, 7, more, 10, blocks);
  EXPECT_EQ(code_of(aqua_replicator_without_blocks(replicator, 7)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_replicator_resume(replicator, 2)), AQUA_OK);
  const std::uint64_t copied = status_of(replicator).copied_bytes;
  EXPECT_EQ(code_of(aqua_replicator_flush(replicator, 0)), AQUA_OK);
  EXPECT_EQ(status_of(replicator).copied_bytes, copied);
  EXPECT_EQ(code_of(aqua_replicator_poll(replicator)), AQUA_OK);
  EXPECT_EQ(watermark(replicator, 7), 10U);
  leave(replicator);
}

TEST_F(CapiReplicas, WithoutItsKeeperItGoesOnUnprotected) {
  const Ids ids = ids_of(1, 20);
  const Blocks blocks = cache_.blocks(20);
  const aqua_replicator replicator = replicate();
  keeper_.kill();
  while (status_of(replicator).connected != 0) {
    int news = 0;
    ASSERT_EQ(code_of(aqua_replicator_wait(replicator, kLongMs, &news)), AQUA_OK);
    ASSERT_EQ(news, 1);
  }
  step(replicator, cache_, 7, ids, 0, blocks);
  ASSERT_FALSE(HasFatalFailure());
  const aqua_replicator_status status = status_of(replicator);
  EXPECT_EQ(status.sequences, 1U);
  EXPECT_EQ(status.unprotected, 1U);
  EXPECT_EQ(status.steps_unprotected, 1U);
  EXPECT_STRNE(status.error, "");
  EXPECT_EQ(wrong_bytes(cache_, ids, blocks), 0U) << "the engine goes on";
  EXPECT_EQ(code_of(aqua_replicator_reconnect(replicator)), AQUA_UNAVAILABLE);
  keeper_.start();
  EXPECT_EQ(code_of(aqua_replicator_reconnect(replicator)), AQUA_OK);
  EXPECT_EQ(status_of(replicator).connected, 1U);
  await(replicator, 7, 20);
  leave(replicator);
  const aqua_replica_reader reader = open_reader();
  EXPECT_EQ(watermark(reader, 7, ids), 20U);
  leave(reader);
}

TEST_F(CapiReplicas, BothKeepTheRuntimeOpen) {
  const aqua_replicator replicator = replicate();
  const aqua_replica_reader reader = open_reader();
  aqua_error* const refused = aqua_runtime_close(runtime_);
  EXPECT_NE(std::strstr(aqua_error_message(refused), "1 replicators, 1 replica readers"), nullptr)
      << aqua_error_message(refused);
  EXPECT_EQ(code_of(refused), AQUA_FAILED_PRECONDITION);
  leave(reader);
  leave(replicator);
}

}  // namespace
}  // namespace aqua::test
