// SPDX-License-Identifier: Apache-2.0
// The options of a runtime that came later: what they do, and callers who do not know them.
#include <cstddef>
#include <cstring>
#include <fstream>
#include <future>
#include <utility>

#include "aqua/runtime.hpp"
#include "tests/capi/capi_fixture.hpp"

namespace {

using aqua::test::code_of;

class Options : public aqua::test::CapiFixture {
 protected:
  Options() {
    given_.device = "emu:9";
    given_.coordinator = "none";
    given_.socket_directory = directory_.c_str();
    given_.host_bytes = std::size_t{8} << 20;
  }
  [[nodiscard]] aqua_runtime opened() {
    aqua_runtime runtime{};
    EXPECT_EQ(code_of(aqua_runtime_open(&given_, &runtime)), AQUA_OK);
    return runtime;
  }
  static std::size_t host_bytes(aqua_runtime runtime) {
    aqua_runtime_status status = AQUA_RUNTIME_STATUS_INIT;
    EXPECT_EQ(code_of(aqua_runtime_get_status(runtime, &status)), AQUA_OK);
    return status.host.capacity_bytes;
  }

  aqua_runtime_options given_ = AQUA_RUNTIME_OPTIONS_INIT;
};

TEST_F(Options, AProfileIsReadAndAMissingOneIsNamed) {
  const std::string path = directory_ + "/profile.json";
  given_.profile = path.c_str();
  aqua_runtime runtime{};
  EXPECT_EQ(code_of(aqua_runtime_open(&given_, &runtime)), AQUA_NOT_FOUND);
  std::ofstream(path) << R"({"version": 1, "kind": "aqua-profile", "role": "consumer", "max_rps": 2,
    "queue_length": 0, "kv_bytes": 67108864, "free_bytes": 0, "swap_bytes": 25165824,
    "threshold_bytes": 16777216, "complete": true})";
  runtime = opened();
  EXPECT_GE(host_bytes(runtime), std::size_t{24} << 20) << "an exit for what it borrows";
  EXPECT_EQ(code_of(aqua_runtime_close(runtime)), AQUA_OK);
}

TEST_F(Options, CopyTimesAreMeasuredAndKeptWhereItIsSaid) {
  const std::string curves = directory_ + "/curves";
  std::promise<void> measured;
  aqua_callbacks callbacks = AQUA_CALLBACKS_INIT;
  callbacks.user = &measured;
  callbacks.on_log = [](void* user, aqua_log_level, const char* message) {
    if (std::strcmp(message, "copy curves: measured") != 0) return;
    static_cast<std::promise<void>*>(user)->set_value();
  };
  aqua_emulated_gpu emulated = AQUA_EMULATED_GPU_INIT;
  emulated.calibrate = 1;
  given_.curve_directory = curves.c_str();
  given_.callbacks = &callbacks;
  given_.emulated = &emulated;
  const aqua_runtime runtime = opened();
  EXPECT_EQ(measured.get_future().wait_for(std::chrono::seconds(100)), std::future_status::ready);
  EXPECT_EQ(code_of(aqua_runtime_close(runtime)), AQUA_OK);
  EXPECT_FALSE(std::filesystem::is_empty(curves));
}

TEST_F(Options, ATensorMayBeKeptOffTheDevicesOwnMemory) {
  given_.local_bytes = std::size_t{8} << 20;
  const aqua_runtime runtime = opened();
  aqua_tensor_options wanted = AQUA_TENSOR_OPTIONS_INIT;
  wanted.bytes = 4096;
  for (const auto& [off_device, expected] :
       {std::pair{0U, AQUA_TIER_LOCAL}, {1U, AQUA_TIER_HOST}}) {
    wanted.off_device = off_device;
    aqua_tensor made{};
    ASSERT_EQ(code_of(aqua_tensor_allocate(runtime, &wanted, &made)), AQUA_OK);
    aqua_tier tier{};
    EXPECT_EQ(code_of(aqua_tensor_get_tier(made, &tier)), AQUA_OK);
    EXPECT_EQ(tier, static_cast<aqua_tier>(expected)) << off_device;
    EXPECT_EQ(code_of(aqua_tensor_free(made)), AQUA_OK);
  }
  EXPECT_EQ(code_of(aqua_runtime_close(runtime)), AQUA_OK);
}

TEST(Defaults, AreThoseOfTheCppOptions) {
  const aqua_producer_options c = AQUA_PRODUCER_OPTIONS_INIT;
  const aqua::ProducerOptions cpp;
  const auto same = [](const aqua_load_band& a, const aqua::LoadBand& b) {
    return a.rate_ratio == b.rate_ratio && a.rate_slack == b.rate_slack &&
           a.queue_ratio == b.queue_ratio && a.queue_slack == b.queue_slack;
  };
  EXPECT_TRUE(same(c.rise, cpp.rise));
  EXPECT_TRUE(same(c.settle, cpp.settle));
  EXPECT_EQ(c.settle_ms, cpp.settle_time.count());
  EXPECT_EQ(c.min_ms_between_flips, cpp.min_time_between_flips.count());
  EXPECT_EQ(c.headroom, cpp.headroom);
  EXPECT_EQ(c.min_offer_bytes, cpp.min_offer_bytes);
  const aqua_load_profile profile = AQUA_LOAD_PROFILE_INIT;
  EXPECT_EQ(profile.producer_threshold_bytes, aqua::LoadProfile().producer_threshold_bytes);
  const aqua_emulated_gpu gpu = AQUA_EMULATED_GPU_INIT;
  EXPECT_EQ(gpu.seed, aqua::EmulatedGpuOptions().seed);
}

// What follows an older struct in its caller's memory is not the library's to read.
TEST_F(Options, CallersFromBeforeThemAreServed) {
  aqua_emulated_gpu emulated = AQUA_EMULATED_GPU_INIT;
  emulated.struct_size = offsetof(aqua_emulated_gpu, hostile);
  emulated.hostile = emulated.calibrate = 77;
  given_.struct_size = offsetof(aqua_runtime_options, curve_directory);
  given_.emulated = &emulated;
  given_.curve_directory = given_.profile = "/no such place";
  const aqua_runtime runtime = opened();
  EXPECT_EQ(host_bytes(runtime), given_.host_bytes);
  EXPECT_EQ(code_of(aqua_runtime_close(runtime)), AQUA_OK);
}

}  // namespace
