// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on a packer makes is made to fail. The call says so; after one that
// may have changed half of something every call says that the packer is to be freed, and none
// crashes.
#include "tests/capi/fail_each.hpp"

namespace aqua::test {
namespace {

class NoMemoryPacker : public ::testing::Test {
 protected:
  NoMemoryPacker() { start(); }
  ~NoMemoryPacker() override { freed(aqua_packer_free(packer_)); }

  // Twelve requests on six of eight engines.
  void start() {
    if (packer_.id != 0) freed(aqua_packer_free(packer_));
    freed(aqua_packer_create(nullptr, nullptr, &packer_));
    for (std::uint64_t id = 1; id <= 8; ++id) freed(join(id));
    for (std::uint64_t id = 1; id <= 12; ++id) freed(arrive(id, 350));
  }
  aqua_error* join(std::uint64_t id) const {
    aqua_packer_engine engine = AQUA_PACKER_ENGINE_INIT;
    engine.id = id;
    engine.kv_tokens = 1024;
    return aqua_packer_join(packer_, &engine);
  }
  aqua_error* arrive(std::uint64_t id, std::uint64_t tokens) {
    aqua_packer_request request = AQUA_PACKER_REQUEST_INIT;
    request.id = id;
    request.tokens = tokens;
    return aqua_packer_arrive(packer_, &request, &placed_);
  }
  void each(const char* what, const Call& call, const std::function<void()>& prepare = {}) {
    fail_each(
        what, call,
        [&] {
          start();
          if (prepare) prepare();
        },
        [&](bool ok) {
          aqua_packer_status told = AQUA_PACKER_STATUS_INIT;
          const aqua_code code = code_of(aqua_packer_get_status(packer_, &told));
          EXPECT_TRUE(code == AQUA_OK || (!ok && code == AQUA_ABORTED)) << what;
          EXPECT_EQ(code_of(aqua_packer_epoch(packer_, &plan_)), code) << what;
        });
  }

  aqua_packer packer_{};
  aqua_packer_placement placed_{};
  aqua_packer_plan plan_ = AQUA_PACKER_PLAN_INIT;
};

TEST_F(NoMemoryPacker, EveryCall) {
  fail_each("aqua_packer_create", [&] {
    aqua_packer made{};
    if (aqua_error* error = aqua_packer_create("mell", nullptr, &made)) return error;
    return aqua_packer_free(made);
  });
  each("aqua_packer_join", [&] { return join(9); });
  each("aqua_packer_resize", [&] { return aqua_packer_resize(packer_, 1, 2048); });
  each("aqua_packer_drain", [&] { return aqua_packer_drain(packer_, 1); });
  each("aqua_packer_arrive", [&] { return arrive(13, 200); });
  each("aqua_packer_grew", [&] { return aqua_packer_grew(packer_, 1, 600); });
  each("aqua_packer_ended", [&] { return aqua_packer_ended(packer_, 1); });
  const std::uint64_t* lost = nullptr;
  std::size_t count = 0;
  each("aqua_packer_lost", [&] { return aqua_packer_lost(packer_, 1, &lost, &count); });
  each("aqua_packer_gone", [&] { return aqua_packer_gone(packer_, 8); });
  each(
      "aqua_packer_epoch", [&] { return aqua_packer_epoch(packer_, &plan_); },
      [&] {
        for (std::uint64_t id = 1; id <= 12; id += 2) freed(aqua_packer_ended(packer_, id));
        freed(aqua_packer_drain(packer_, 2));
      });
}

}  // namespace
}  // namespace aqua::test
