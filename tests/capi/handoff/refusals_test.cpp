// SPDX-License-Identifier: Apache-2.0
// What the C ABI refuses of KV pools, by its exact code; nothing has changed then.
#include <array>
#include <functional>
#include <string>

#include "tests/capi/handoff/pool_fixture.hpp"

namespace aqua::test {
namespace {

class CapiKvPoolRefusals : public CapiKvPool {
 protected:
  // Every call on a pool, as it would succeed or say what it lacks, by this handle.
  static aqua_code each_call(aqua_kv_pool pool, std::size_t n) {
    static const std::array<std::uint32_t, 1> block{0};
    aqua_parcel parcel = AQUA_PARCEL_INIT;
    parcel.id = "r";
    parcel.turn = 1;
    aqua_kv_pool_status status = AQUA_KV_POOL_STATUS_INIT;
    void* address = nullptr;
    aqua_layout layout{};
    std::uint32_t out = 0;
    std::uint64_t number = 0;
    aqua_parcel_state state = 0;
    int news = 0;
    std::size_t count = 0;
    const std::uint64_t* numbers = nullptr;
    const aqua_parcel* const* parcels = nullptr;
    const aqua_undelivered* const* undelivered = nullptr;
    const aqua_delivery* const* deliveries = nullptr;
    const aqua_parcel_head* const* heads = nullptr;
    const std::array<std::function<aqua_error*()>, kCalls> calls{
        [&] { return aqua_kv_pool_free(pool); },
        [&] { return aqua_kv_pool_get_status(pool, &status); },
        [&] { return aqua_kv_pool_get_plane(pool, 0, 0, &address); },
        [&] { return aqua_kv_pool_create_layout(pool, &layout); },
        [&] { return aqua_kv_pool_allocate(pool, 1, &out); },
        [&] { return aqua_kv_pool_release(pool, block.data(), 1, 0); },
        [&] { return aqua_kv_pool_share(pool, block.data(), 1); },
        [&] { return aqua_kv_pool_hand_over(pool, &parcel, "decode", 0); },
        [&] { return aqua_kv_pool_undelivered(pool, &undelivered, &count); },
        [&] { return aqua_kv_pool_open(pool, "r", 1, "decode", &number); },
        [&] { return aqua_kv_pool_get_parcel_state(pool, 1, &state); },
        [&] { return aqua_kv_pool_close(pool, 1, &parcel, 0); },
        [&] { return aqua_kv_pool_recall(pool, 1); },
        [&] { return aqua_kv_pool_deliveries(pool, &deliveries, &count); },
        [&] { return aqua_kv_pool_accept(pool, 1, &parcels, &count); },
        [&] { return aqua_kv_pool_confirm(pool, 1); },
        [&] { return aqua_kv_pool_finish(pool, 1, 0); },
        [&] { return aqua_kv_pool_superseded(pool, &numbers, &count); },
        [&] { return aqua_kv_pool_cut_off(pool, &heads, &count); },
        [&] { return aqua_kv_pool_wait(pool, 0, &news); },
    };
    return code_of(calls.at(n)());
  }
  static constexpr std::size_t kCalls = 20;
  static constexpr aqua_stream kNoStream = ~aqua_stream{0};

  [[nodiscard]] aqua_code attach_code(const aqua_kv_pool_options& given) const {
    aqua_kv_pool pool{};
    const aqua_code code = code_of(aqua_kv_pool_attach(runtime_, &given, &pool));
    EXPECT_EQ(pool.id, 0U) << "written although it was refused";
    return code;
  }
};

TEST_F(CapiKvPoolRefusals, HandlesThatAreNoneOfAPool) {
  const aqua_kv_pool freed = join("decode");
  leave(freed);
  for (std::size_t n = 0; n < kCalls; ++n) {
    EXPECT_EQ(each_call({}, n), AQUA_INVALID_ARGUMENT) << "zero, call " << n;
    EXPECT_EQ(each_call({runtime_.id}, n), AQUA_INVALID_ARGUMENT) << "a runtime's, call " << n;
    EXPECT_EQ(each_call(freed, n), AQUA_NOT_FOUND) << "freed, call " << n;
  }
}

TEST_F(CapiKvPoolRefusals, NullsForWhatIsWantedOrWritten) {
  const aqua_kv_pool pool = join("prefill");
  const Blocks blocks = allocate(pool, 2);
  const aqua_parcel parcel = parcel_of("r", 1, blocks);
  const aqua_kv_pool_status before = status_of(pool);
  std::size_t count = 0;
  const aqua_parcel* const* parcels = nullptr;
  const aqua_undelivered* const* undelivered = nullptr;
  const aqua_delivery* const* deliveries = nullptr;
  const aqua_parcel_head* const* heads = nullptr;
  const std::uint64_t* numbers = nullptr;
  const std::array<aqua_error*, 23> refused{
      aqua_kv_pool_attach(runtime_, nullptr, nullptr),
      aqua_kv_pool_get_status(pool, nullptr),
      aqua_kv_pool_get_plane(pool, 0, 0, nullptr),
      aqua_kv_pool_create_layout(pool, nullptr),
      aqua_kv_pool_allocate(pool, 1, nullptr),
      aqua_kv_pool_release(pool, nullptr, 1, 0),
      aqua_kv_pool_share(pool, nullptr, 1),
      aqua_kv_pool_hand_over(pool, nullptr, "decode", 0),
      aqua_kv_pool_hand_over(pool, &parcel, nullptr, 0),
      aqua_kv_pool_open(pool, "r", 1, "decode", nullptr),
      aqua_kv_pool_open(pool, nullptr, 1, "decode", nullptr),
      aqua_kv_pool_get_parcel_state(pool, 1, nullptr),
      aqua_kv_pool_undelivered(pool, nullptr, &count),
      aqua_kv_pool_undelivered(pool, &undelivered, nullptr),
      aqua_kv_pool_deliveries(pool, nullptr, &count),
      aqua_kv_pool_deliveries(pool, &deliveries, nullptr),
      aqua_kv_pool_accept(pool, 1, nullptr, &count),
      aqua_kv_pool_accept(pool, 1, &parcels, nullptr),
      aqua_kv_pool_superseded(pool, nullptr, &count),
      aqua_kv_pool_superseded(pool, &numbers, nullptr),
      aqua_kv_pool_cut_off(pool, nullptr, &count),
      aqua_kv_pool_cut_off(pool, &heads, nullptr),
      aqua_kv_pool_wait(pool, 0, nullptr),
  };
  for (std::size_t i = 0; i < refused.size(); ++i) {
    EXPECT_EQ(code_of(refused[i]), AQUA_INVALID_ARGUMENT) << i;
  }
  EXPECT_EQ(status_of(pool).used, before.used);
  leave(pool);
}

TEST_F(CapiKvPoolRefusals, OptionsThatCannotBe) {
  aqua_kv_pool_options given = options("decode");
  given.struct_size = 3;
  EXPECT_EQ(attach_code(given), AQUA_INVALID_ARGUMENT);
  given = options(nullptr);
  EXPECT_EQ(attach_code(given), AQUA_INVALID_ARGUMENT);
  given = options("decode");
  given.name = nullptr;
  EXPECT_EQ(attach_code(given), AQUA_INVALID_ARGUMENT);
  given = options("decode");
  given.shape = nullptr;
  EXPECT_EQ(attach_code(given), AQUA_INVALID_ARGUMENT);
  given = options("decode");
  given.slab_bytes = 1;
  EXPECT_EQ(attach_code(given), AQUA_INVALID_ARGUMENT);
  given = options("decode");
  given.quota_blocks = kBlocks + 1;
  EXPECT_EQ(attach_code(given), AQUA_INVALID_ARGUMENT);
  given = options("decode");
  const std::string nobody = socket_ + ".none";
  given.keeper = nobody.c_str();
  EXPECT_EQ(attach_code(given), AQUA_UNAVAILABLE);

  aqua_kv_pool_shape other = shape_;
  given = options("decode");
  given.shape = &other;
  other.struct_size = 3;
  EXPECT_EQ(attach_code(given), AQUA_INVALID_ARGUMENT);
  other = shape_;
  other.layers = 0;
  EXPECT_EQ(attach_code(given), AQUA_INVALID_ARGUMENT);
  const aqua_kv_pool pool = join("decode");
  other = shape_;
  other.format = "other";
  EXPECT_EQ(attach_code(given), AQUA_FAILED_PRECONDITION);
  leave(pool);
}

TEST_F(CapiKvPoolRefusals, BlocksThatAreNotAMembersOwn) {
  const aqua_kv_pool prefill = join("prefill");
  const aqua_kv_pool decode = join("decode");
  const Blocks own = allocate(prefill, 2);
  const Blocks foreign = allocate(decode, 1);
  // The last is longer than it says, if it were read.
  const std::array<Blocks, 4> lists{
      {{own[0], foreign[0]}, {own[0], own[0]}, {own[0], kBlocks}, {own[0]}}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Blocks& list = lists.at(i);
    aqua_parcel parcel = parcel_of("r", 1, list);
    if (i == 3) parcel.block_count = kBlocks + 1;
    const std::size_t count = parcel.block_count;
    EXPECT_EQ(code_of(aqua_kv_pool_release(prefill, list.data(), count, 0)), AQUA_INVALID_ARGUMENT);
    EXPECT_EQ(code_of(aqua_kv_pool_share(prefill, list.data(), count)), AQUA_INVALID_ARGUMENT);
    EXPECT_EQ(code_of(aqua_kv_pool_hand_over(prefill, &parcel, "decode", 0)),
              AQUA_INVALID_ARGUMENT);
  }
  EXPECT_EQ(code_of(aqua_kv_pool_release(prefill, own.data(), 2, kNoStream)), AQUA_INVALID_ARGUMENT)
      << "no such stream";
  EXPECT_EQ(status_of(prefill).used, 2U);
  Blocks many(kBlocks + 1, 7);
  EXPECT_EQ(code_of(aqua_kv_pool_allocate(prefill, many.size(), many.data())),
            AQUA_RESOURCE_EXHAUSTED);
  EXPECT_EQ(many, Blocks(kBlocks + 1, 7)) << "written although it was refused";
  EXPECT_EQ(code_of(aqua_kv_pool_release(prefill, own.data(), 2, 0)), AQUA_OK);
  leave(decode);
  leave(prefill);
}

TEST_F(CapiKvPoolRefusals, ParcelsThatCannotBe) {
  const aqua_kv_pool pool = join("prefill");
  const Blocks blocks = allocate(pool, 1);
  const auto hand_over = [&](const aqua_parcel& parcel, const char* role = "decode",
                             aqua_stream stream = 0) {
    return code_of(aqua_kv_pool_hand_over(pool, &parcel, role, stream));
  };
  aqua_parcel parcel = parcel_of("r", 1, blocks);
  parcel.struct_size = 3;
  EXPECT_EQ(hand_over(parcel), AQUA_INVALID_ARGUMENT);
  for (const std::string& id : {std::string(), std::string(257, 'r'), std::string("a\n")}) {
    parcel = parcel_of(id.c_str(), 1, blocks);
    EXPECT_EQ(hand_over(parcel), AQUA_INVALID_ARGUMENT) << id;
    std::uint64_t number = 0;
    EXPECT_EQ(code_of(aqua_kv_pool_open(pool, id.c_str(), 1, "decode", &number)),
              AQUA_INVALID_ARGUMENT)
        << id;
    EXPECT_EQ(number, 0U);
  }
  const std::string note(AQUA_MAX_NOTE_BYTES + 1, 'n');
  parcel = parcel_of("r", 1, blocks);
  parcel.note_bytes = 1;
  EXPECT_EQ(hand_over(parcel), AQUA_INVALID_ARGUMENT) << "a note that is NULL";
  parcel.note = note.data();
  parcel.note_bytes = note.size();
  EXPECT_EQ(hand_over(parcel), AQUA_INVALID_ARGUMENT) << "a note that is too long";
  parcel = parcel_of("r", 1, blocks);
  EXPECT_EQ(hand_over(parcel, ""), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(hand_over(parcel, "decode", kNoStream), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(status_of(pool).used, 1U) << "nothing has changed";
  parcel.note = note.data();
  parcel.note_bytes = AQUA_MAX_NOTE_BYTES;
  EXPECT_EQ(hand_over(parcel), AQUA_OK) << "the longest that can be";
  leave(pool);
}

TEST_F(CapiKvPoolRefusals, NumbersThatAreNoParcels) {
  const aqua_kv_pool pool = join("prefill");
  const Blocks blocks = allocate(pool, 1);
  const aqua_parcel parcel = parcel_of("r", 1, blocks);
  aqua_parcel_state state = 77;
  EXPECT_EQ(code_of(aqua_kv_pool_get_parcel_state(pool, 5, &state)), AQUA_NOT_FOUND);
  EXPECT_EQ(state, 77U);
  EXPECT_EQ(code_of(aqua_kv_pool_close(pool, 5, &parcel, 0)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_kv_pool_recall(pool, 5)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_kv_pool_confirm(pool, 5)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_kv_pool_finish(pool, 5, 0)), AQUA_NOT_FOUND);
  EXPECT_EQ(status_of(pool).used, 1U);
  leave(pool);
}

TEST_F(CapiKvPoolRefusals, PlanesThatAreNotThere) {
  const aqua_kv_pool pool = join("prefill");
  void* address = nullptr;
  EXPECT_EQ(code_of(aqua_kv_pool_get_plane(pool, kLayers, 0, &address)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_kv_pool_get_plane(pool, 0, kPlanes, &address)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(address, nullptr);
  leave(pool);
}

TEST_F(CapiKvPoolRefusals, AKernelThatFreesThePool) {
  struct Freed {
    aqua_kv_pool pool;
    aqua_code code = AQUA_OK;
  } freed{join("prefill")};
  const auto kernel = [](void* user) {
    auto& told = *static_cast<Freed*>(user);
    told.code = code_of(aqua_kv_pool_free(told.pool));
  };
  ASSERT_EQ(code_of(aqua_emulated_launch(runtime_, 0, kernel, &freed)), AQUA_OK);
  ASSERT_EQ(code_of(aqua_emulated_synchronize(runtime_, 0)), AQUA_OK);
  EXPECT_EQ(freed.code, AQUA_FAILED_PRECONDITION);
  leave(freed.pool);
}

}  // namespace
}  // namespace aqua::test
