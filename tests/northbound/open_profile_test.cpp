// SPDX-License-Identifier: Apache-2.0
// Runtime::open() with a profile.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "aqua/northbound/profile.hpp"
#include "aqua/runtime.hpp"

namespace aqua {
namespace {

class OpenProfile : public ::testing::Test {
 protected:
  OpenProfile() {
    char pattern[] = "/tmp/aqua-profile-XXXXXX";
    directory_ = ::mkdtemp(pattern);
  }
  ~OpenProfile() override { std::filesystem::remove_all(directory_); }

  Result<Runtime> open(const std::string& role, std::size_t free, std::size_t swap,
                       bool complete = true) {
    const std::string path = directory_ / "profile.json";
    std::ofstream(path) << R"({"version": 1, "kind": "aqua-profile", "role": ")" << role
                        << R"(", "max_rps": 2, "queue_length": 0, "kv_bytes": 67108864,)"
                        << R"( "free_bytes": )" << free << R"(, "swap_bytes": )" << swap
                        << R"(, "threshold_bytes": 16777216, "complete": )"
                        << (complete ? "true" : "false") << '}';
    RuntimeOptions options;
    options.device = "emu:0";
    options.coordinator = "none";
    options.host_bytes = std::size_t{8} << 20;
    options.socket_directory = directory_;
    options.profile = path;
    options.callbacks.on_log = [this](LogLevel, const std::string& text) { logged_ += text; };
    options.emulated.total_bytes = std::size_t{128} << 20;
    return Runtime::open(options);
  }

  std::filesystem::path directory_;
  std::string logged_;  // by the runtime that lives; read once it does not
};

TEST_F(OpenProfile, AProducersEngineHasItsPool) {
  const auto runtime = open("producer", std::size_t{32} << 20, 0);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  EXPECT_EQ(runtime->budget().engine_bytes, std::size_t{64} << 20) << "not all of the device";
  EXPECT_EQ(runtime->status().host.capacity_bytes, std::size_t{8} << 20);
}

TEST_F(OpenProfile, AConsumerHasExitsForWhatItBorrows) {
  const auto runtime = open("consumer", 0, std::size_t{24} << 20);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  EXPECT_GE(runtime->status().host.capacity_bytes, std::size_t{24} << 20);
}

TEST_F(OpenProfile, BytesAsTheyWereMeasuredAreNoWholePages) {
  const auto runtime = open("consumer", 0, 29'957'123);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  EXPECT_GE(runtime->status().host.capacity_bytes, 29'957'123U);
}

TEST_F(OpenProfile, ANeutralOneChangesNothing) {
  const auto runtime = open("neutral", 0, 0);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  EXPECT_EQ(runtime->status().host.capacity_bytes, std::size_t{8} << 20);
}

TEST_F(OpenProfile, OneThatIsNotCompleteCountsForWhatItHas) {
  {
    const auto producer = open("producer", std::size_t{32} << 20, 0, false);
    ASSERT_TRUE(producer.ok()) << producer.error().message;
    EXPECT_EQ(producer->budget().engine_bytes, std::size_t{64} << 20);
  }
  EXPECT_NE(logged_.find("aqua profile --resume"), std::string::npos) << logged_;
  const auto consumer = open("consumer", 0, std::size_t{24} << 20, false);
  ASSERT_TRUE(consumer.ok()) << consumer.error().message;
  EXPECT_GE(consumer->status().host.capacity_bytes, std::size_t{24} << 20);
}

TEST_F(OpenProfile, OneThatWasStoppedBeforeItHadARoleIsRefused) {
  const auto runtime = open("neutral", 0, 0, false);
  ASSERT_FALSE(runtime.ok());
  EXPECT_EQ(runtime.error().code, Code::failed_precondition);
  EXPECT_NE(runtime.error().message.find("aqua profile --resume"), std::string::npos);
}

TEST_F(OpenProfile, AWrongOneIsRefused) {
  const auto runtime = open("landlord", 0, 0);
  ASSERT_FALSE(runtime.ok());
  EXPECT_EQ(runtime.error().code, Code::invalid_argument);
  EXPECT_NE(runtime.error().message.find("role"), std::string::npos);
  RuntimeOptions missing;
  missing.device = "emu:0";
  missing.coordinator = "none";
  missing.profile = directory_ / "nowhere";
  EXPECT_EQ(Runtime::open(missing).error().code, Code::not_found);
}

}  // namespace
}  // namespace aqua
