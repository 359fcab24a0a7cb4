// SPDX-License-Identifier: Apache-2.0
// What the C ABI refuses of replicas, by its exact code; nothing has changed then.
#include <array>
#include <string>

#include "tests/capi/kv_stream/replicas_fixture.hpp"

namespace aqua::test {
namespace {

class CapiReplicasRefusals : public CapiReplicas {
 protected:
  // Every call on each kind, as it would succeed or say what it lacks, by this handle.
  Calls calls_on(aqua_replicator one) {
    return {[=] { return aqua_replicator_free(one); },
            [=, this] { return aqua_replicator_get_status(one, &status_); },
            [=] { return aqua_replicator_step(one, nullptr, 0, 0, nullptr); },
            [=] { return aqua_replicator_flush(one, 0); },
            [=] { return aqua_replicator_without_blocks(one, 7); },
            [=] { return aqua_replicator_finish(one, 7); },
            [=] { return aqua_replicator_seal(one); },
            [=] { return aqua_replicator_resume(one, 2); },
            [=, this] { return aqua_replicator_adopt(one, reader_, 7); },
            [=] { return aqua_replicator_reconnect(one); },
            [=] { return aqua_replicator_poll(one); },
            [=, this] { return aqua_replicator_wait(one, 0, &answer_); },
            [=, this] { return aqua_replicator_get_watermark(one, 7, &tokens_); },
            [=, this] { return aqua_replicator_unprotected(one, &numbers_, &count_); }};
  }
  Calls calls_on(aqua_replica_reader one) {
    return {
        [=] { return aqua_replica_reader_free(one); },
        [=, this] { return aqua_replica_reader_get_status(one, &reader_status_); },
        [=, this] { return aqua_replica_reader_sequences(one, &numbers_, &count_); },
        [=, this] { return aqua_replica_reader_get_watermark(one, 7, nullptr, 0, 1, &tokens_); },
        [=, this] {
          return aqua_replica_reader_get_sampler(one, 7, nullptr, 0, nullptr, 0, &count_, &tokens_);
        },
        [=, this] {
          return aqua_replica_reader_restore(one, cache_.layout, &restoring_, 0, nullptr);
        },
        [=] { return aqua_replica_reader_finish(one, 0); },
        [=] { return aqua_replica_reader_drop_other_lives(one); }};
  }
  template <typename Handle>
  void expect_refused(Handle freed) {
    CapiFixture::expect_refused(freed, [this](Handle one) { return calls_on(one); });
  }

  const Ids ids_ = ids_of(1, 20);
  const Blocks blocks_ = cache_.blocks(20);
  const aqua_restore_options restoring_ = restoring(7, ids_, 20, blocks_);
  aqua_replicator_status status_ = AQUA_REPLICATOR_STATUS_INIT;
  aqua_replica_reader_status reader_status_ = AQUA_REPLICA_READER_STATUS_INIT;
  aqua_replica_reader reader_{};
  aqua_ticket ticket_{};
  int answer_ = 0;
  std::uint32_t tokens_ = 7;
  std::size_t count_ = 0;
  const std::uint64_t* numbers_ = nullptr;
};

TEST_F(CapiReplicasRefusals, HandlesThatAreNone) {
  const aqua_replicator replicator = replicate();
  EXPECT_EQ(code_of(aqua_replicator_adopt(replicator, {}, 7)), AQUA_INVALID_ARGUMENT);
  reader_ = open_reader();
  EXPECT_EQ(code_of(aqua_replicator_adopt(replicator, reader_, 7)), AQUA_NOT_FOUND);
  leave(replicator);
  expect_refused(replicator);
  leave(reader_);
  expect_refused(reader_);
}

TEST_F(CapiReplicasRefusals, NullsForWhatIsWantedOrWritten) {
  leave_behind(7, ids_, options());
  const aqua_replicator one = replicate();
  const aqua_replica_reader reader = open_reader();
  const aqua_replicator_options given = options();
  const aqua_replica_reader_options reading = reader_options();
  const aqua_written_tokens* const none = nullptr;
  const std::array<aqua_error*, 23> refused{
      aqua_replicator_create(runtime_, cache_.layout, nullptr, nullptr),
      aqua_replicator_create(runtime_, cache_.layout, &given, nullptr),
      aqua_replicator_get_status(one, nullptr),
      aqua_replicator_step(one, nullptr, 1, 0, &ticket_),
      aqua_replicator_step(one, &none, 1, 0, &ticket_),
      aqua_replicator_wait(one, 0, nullptr),
      aqua_replicator_get_watermark(one, 7, nullptr),
      aqua_replicator_unprotected(one, nullptr, &count_),
      aqua_replicator_unprotected(one, &numbers_, nullptr),
      aqua_replica_reader_open(runtime_, nullptr, nullptr),
      aqua_replica_reader_open(runtime_, &reading, nullptr),
      aqua_replica_reader_get_status(reader, nullptr),
      aqua_replica_reader_sequences(reader, nullptr, &count_),
      aqua_replica_reader_sequences(reader, &numbers_, nullptr),
      aqua_replica_reader_get_watermark(reader, 7, nullptr, 1, 1, &tokens_),
      aqua_replica_reader_get_watermark(reader, 7, ids_.data(), 1, 1, nullptr),
      aqua_replica_reader_get_sampler(reader, 7, nullptr, 1, nullptr, 0, &count_, &tokens_),
      aqua_replica_reader_get_sampler(reader, 7, ids_.data(), 1, nullptr, 5, &count_, &tokens_),
      aqua_replica_reader_get_sampler(reader, 7, ids_.data(), 1, nullptr, 0, nullptr, &tokens_),
      aqua_replica_reader_get_sampler(reader, 7, ids_.data(), 1, nullptr, 0, &count_, nullptr),
      aqua_replica_reader_get_sampler(reader, 7, ids_.data(), 20, &answer_, 4, &count_, &tokens_),
      aqua_replica_reader_restore(reader, cache_.layout, nullptr, 0, &ticket_),
      aqua_replica_reader_get_watermark(reader, 7, ids_.data(), std::size_t{1} << 40, 1, &tokens_),
  };
  for (std::size_t i = 0; i < refused.size(); ++i)
    EXPECT_EQ(code_of(refused.at(i)), AQUA_INVALID_ARGUMENT) << i;
  EXPECT_EQ(ticket_.id, 0U);
  EXPECT_EQ(tokens_, 7U);
  EXPECT_EQ(status_of(one).sequences, 0U);
  EXPECT_EQ(watermark(reader, 7, ids_), 20U) << "it reads on";
  leave(reader);
  leave(one);
}

TEST_F(CapiReplicasRefusals, OptionsThatCannotBe) {
  aqua_replicator_options given = options();
  aqua_replica_owner owner = owner_;
  const auto refused = [&](const char* what, aqua_code code = AQUA_INVALID_ARGUMENT) {
    aqua_replicator made{};
    EXPECT_EQ(code_of(aqua_replicator_create(runtime_, cache_.layout, &given, &made)), code)
        << what;
    EXPECT_EQ(made.id, 0U) << "written although it was refused";
    given = options();
    given.owner = &owner;
    owner = owner_;
  };
  given.struct_size = 3;
  refused("a size");
  given.owner = nullptr;
  refused("no owner");
  owner.struct_size = 3;
  refused("an owner of another size");
  owner.group = nullptr;
  refused("no group");
  owner.group = "no.name";
  refused("a group with a dot");
  owner.life = "a b";
  refused("a life with a space");
  const std::string long_shape(1025, 'x');
  given.shape = long_shape.c_str();
  refused("so long a shape");
  given.pack_steps = 0;
  refused("packs of no steps");
  given.pack_steps = 5;
  refused("packs of more steps than may be missing");
  given.pack_bytes = 1000;
  refused("packs without room for a token");
  given.max_bytes = 4 * given.pack_bytes - 1;
  refused("room for less than four packs");
  const std::string nobody = socket_ + ".none";
  given.keeper = nobody.c_str();
  refused("a keeper that is none", AQUA_UNAVAILABLE);
  aqua_replicator made{};
  EXPECT_EQ(code_of(aqua_replicator_create(runtime_, {}, &given, &made)), AQUA_INVALID_ARGUMENT);

  aqua_replica_reader_options reading = reader_options();
  const auto not_opened = [&](const char* what, aqua_code code = AQUA_INVALID_ARGUMENT) {
    EXPECT_EQ(code_of(aqua_replica_reader_open(runtime_, &reading, &reader_)), code) << what;
    EXPECT_EQ(reader_.id, 0U);
    reading = reader_options();
  };
  reading.struct_size = 3;
  not_opened("a size");
  reading.owner = nullptr;
  not_opened("no owner");
  owner.group = "no.name";
  reading.owner = &owner;
  not_opened("a group with a dot");
  reading.keeper = nobody.c_str();
  not_opened("a keeper that is none", AQUA_UNAVAILABLE);
}

TEST_F(CapiReplicasRefusals, StepsThatCannotBe) {
  const aqua_replicator one = replicate();
  step(one, cache_, 7, ids_, 0, blocks_);
  aqua_written_tokens given = written(7, ids_, 19, blocks_);
  std::array<const aqua_written_tokens*, 2> list{&given, &given};
  const auto refused = [&](const char* what, std::size_t count = 1) {
    EXPECT_EQ(code_of(aqua_replicator_step(one, list.data(), count, 0, &ticket_)),
              AQUA_INVALID_ARGUMENT)
        << what;
    EXPECT_EQ(ticket_.id, 0U);
    given = written(7, ids_, 19, blocks_);
  };
  refused("a sequence twice", 2);
  refused("more sequences than there are blocks", kTokens);
  given.struct_size = 3;
  refused("a size");
  given.id_count = 0;
  refused("no ids");
  given.ids = nullptr;
  refused("ids that are NULL");
  given.id_count = SIZE_MAX - 18;  // which wraps around
  refused("so many ids");
  given.first = 21;
  refused("a token is missing before the first");
  given.first = 20;
  refused("blocks for 20 tokens");
  given.blocks = nullptr;
  refused("blocks that are NULL");
  given.block_count = kTokens;
  refused("more blocks than there are");
  const Blocks twice(5, 1);
  given.blocks = twice.data();
  refused("a block twice");
  given.sampler_bytes = 1;
  refused("a state that is NULL");
  const std::string state(AQUA_MAX_SAMPLER_BYTES + 1, 's');
  given.sampler = state.data();
  given.sampler_bytes = state.size();
  refused("so long a state");
  EXPECT_EQ(status_of(one).sequences, 1U);
  await(one, 7, 20);
  EXPECT_EQ(code_of(aqua_replicator_step(one, nullptr, 0, 0, nullptr)), AQUA_OK)
      << "nothing was computed, and nobody will ask";
  leave(one);
}

TEST_F(CapiReplicasRefusals, WhatCannotBeRestored) {
  leave_behind(7, ids_, options());
  const aqua_replica_reader reader = open_reader();
  aqua_restore_options given = restoring_;
  const auto refused = [&](const char* what) {
    EXPECT_EQ(code_of(aqua_replica_reader_restore(reader, cache_.layout, &given, 0, &ticket_)),
              AQUA_INVALID_ARGUMENT)
        << what;
    EXPECT_EQ(ticket_.id, 0U);
    given = restoring_;
  };
  given.struct_size = 3;
  refused("a size");
  given.sequence = 8;
  refused("a sequence of which there is nothing");
  given.tokens = 21;
  refused("more tokens than are known");
  given.block_count = 4;
  refused("too few blocks");
  given.block_count = kTokens;
  refused("more blocks than there are");
  given.blocks = nullptr;
  refused("blocks that are NULL");
  given.ids = nullptr;
  refused("ids that are NULL");
  const Blocks twice(5, 1);
  given.blocks = twice.data();
  refused("a block twice");
  EXPECT_EQ(code_of(aqua_replica_reader_restore(reader, {}, &given, 0, &ticket_)),
            AQUA_INVALID_ARGUMENT);
  const aqua_replicator one = replicate();
  EXPECT_EQ(code_of(aqua_replicator_adopt(one, reader, 7)), AQUA_NOT_FOUND);
  leave(one);
  restore(reader, cache_, 7, ids_, 20, blocks_);
  EXPECT_EQ(wrong_bytes(cache_, ids_, blocks_), 0U);
  leave(reader);
}

TEST_F(CapiReplicasRefusals, AReplicatorOfAnotherTermThanTheReadersAdoptsNothing) {
  leave_behind(7, ids_, options());
  const aqua_replica_reader reader = open_reader(2);
  restore(reader, cache_, 7, ids_, 20, blocks_);
  const aqua_replicator one = replicate();  // of term 1: finish() would drop what it commits
  EXPECT_EQ(code_of(aqua_replicator_adopt(one, reader, 7)), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(status_of(one).sequences, 0U);
  EXPECT_EQ(code_of(aqua_replicator_resume(one, 3)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_replicator_adopt(one, reader, 7)), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(code_of(aqua_replicator_resume(one, 2)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_replicator_adopt(one, reader, 7)), AQUA_OK);
  EXPECT_EQ(watermark(one, 7), 20U);
  leave(reader);
  leave(one);
}

TEST_F(CapiReplicasRefusals, AKernelThatFreesThemOrWaits) {
  struct Asked {
    aqua_replicator replicator;
    aqua_replica_reader reader;
    aqua_code of_wait = AQUA_OK, of_replicator = AQUA_OK, of_reader = AQUA_OK;
  } asked{replicate(), open_reader()};
  const auto kernel = [](void* user) {
    auto& told = *static_cast<Asked*>(user);
    int news = 0;
    told.of_wait = code_of(aqua_replicator_wait(told.replicator, 0, &news));
    told.of_replicator = code_of(aqua_replicator_free(told.replicator));
    told.of_reader = code_of(aqua_replica_reader_free(told.reader));
  };
  ASSERT_EQ(code_of(aqua_emulated_launch(runtime_, 0, kernel, &asked)), AQUA_OK);
  ASSERT_EQ(code_of(aqua_emulated_synchronize(runtime_, 0)), AQUA_OK);
  EXPECT_EQ(asked.of_wait, AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(asked.of_replicator, AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(asked.of_reader, AQUA_FAILED_PRECONDITION);
  leave(asked.reader);
  leave(asked.replicator);
}

}  // namespace
}  // namespace aqua::test
