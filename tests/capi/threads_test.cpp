// SPDX-License-Identifier: Apache-2.0
// Handles freed and runtimes closed while other threads use them. For TSan above all.
#include <atomic>
#include <thread>
#include <vector>

#include "capi/handles/handle_table.hpp"
#include "tests/capi/capi_fixture.hpp"

namespace aqua::test {
namespace {

class Threads : public CapiFixture {};

TEST_F(Threads, ATensorFreedWhileOthersUseItIsThereOrNotFound) {
  for (int round = 0; round < 50; ++round) {
    const aqua_tensor shared = tensor();
    std::atomic<int> freed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 40; ++i) {
          aqua_pin pin{};
          aqua_tier tier = 0;
          aqua_code code = code_of(aqua_tensor_get_tier(shared, &tier));
          EXPECT_TRUE(code == AQUA_OK || code == AQUA_NOT_FOUND);
          code = code_of(aqua_tensor_pin(shared, AQUA_ACCESS_READ, 0, 0, 16, &pin, nullptr));
          EXPECT_TRUE(code == AQUA_OK || code == AQUA_NOT_FOUND);
          if (code == AQUA_OK) {
            EXPECT_EQ(code_of(aqua_pin_release(pin)), AQUA_OK);
          }
          if (i == 10 + 5 * t) freed += code_of(aqua_tensor_free(shared)) == AQUA_OK ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(freed, 1);
  }
}

TEST_F(Threads, APinReleasedByManyIsReleasedOnce) {
  const aqua_tensor held = tensor();
  for (int round = 0; round < 100; ++round) {
    aqua_pin pin{};
    ASSERT_EQ(code_of(aqua_tensor_pin(held, AQUA_ACCESS_WRITE, 0, 0, 16, &pin, nullptr)), AQUA_OK);
    std::atomic<int> released{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        aqua_pin_info info = AQUA_PIN_INFO_INIT;
        if (code_of(aqua_pin_get_info(pin, &info)) == AQUA_OK) {
          EXPECT_NE(info.data, nullptr);
        }
        aqua_error* const error = t == 0 ? aqua_pin_release(pin) : aqua_pin_release_on(pin, 0);
        released += code_of(error) == AQUA_OK ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(released, 1);
  }
  EXPECT_EQ(code_of(aqua_tensor_free(held)), AQUA_OK);
}

TEST_F(Threads, ARuntimeClosedWhileOthersUseItEndsForAllOrForNone) {
  for (int round = 0; round < 5; ++round) {
    const aqua_runtime shared = open();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
        options.bytes = 64;
        for (aqua_code code = AQUA_OK; code == AQUA_OK;) {
          aqua_tensor made{};
          code = code_of(aqua_tensor_allocate(shared, &options, &made));
          if (code == AQUA_OK) {
            EXPECT_EQ(code_of(aqua_tensor_free(made)), AQUA_OK);
            code = code_of(aqua_runtime_tick(shared));
          }
          EXPECT_TRUE(code == AQUA_OK || code == AQUA_NOT_FOUND) << aqua_code_name(code);
        }
      });
    }
    aqua_code code = AQUA_FAILED_PRECONDITION;
    while (code == AQUA_FAILED_PRECONDITION) code = code_of(aqua_runtime_close(shared));
    EXPECT_EQ(code, AQUA_OK);
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(HandleTable, ObjectsAreDestroyedOnceAndPlacesUsedAgain) {
  static std::atomic<int> alive{0};
  struct Counted {
    Counted() { ++alive; }
    ~Counted() { --alive; }
    int value = 5;
  };
  static constinit capi::HandleTable<Counted, capi::Kind::pin> table;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 5000; ++i) {
        const auto id = table.insert(0);
        ASSERT_TRUE(id.ok());
        {
          const auto use = table.use("test", *id);
          ASSERT_TRUE(use.ok());
          EXPECT_EQ((**use).value, 5);
        }
        ASSERT_TRUE(table.end("test", *id).ok());
        EXPECT_FALSE(table.use("test", *id).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(alive, 0);
  const auto id = table.insert(0);
  EXPECT_LT(capi::Handle{*id}.index(), 256u);  // 20,000 lives in a few places
  EXPECT_TRUE(table.end("test", *id).ok());
}

}  // namespace
}  // namespace aqua::test
