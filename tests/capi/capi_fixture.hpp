// SPDX-License-Identifier: Apache-2.0
// A runtime of the C ABI on an emulated GPU, and outcomes that compare as codes.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "aqua/aqua.h"
#include "aqua/aqua_emulated.h"

namespace aqua::test {

// The code of an outcome, which it frees. An error without a message is a failure.
inline aqua_code code_of(aqua_error* error) {
  const aqua_code code = aqua_error_code(error);
  if (error != nullptr) {
    EXPECT_STRNE(aqua_error_message(error), "");
  }
  aqua_error_free(error);
  return code;
}

class CapiFixture : public ::testing::Test {
 protected:
  // `link_bytes_per_second`: as of the emulated GPU.
  explicit CapiFixture(std::uint64_t link_bytes_per_second = 0) {
    gpu_.link_bytes_per_second = link_bytes_per_second;
    char pattern[] = "/tmp/aqua-capi-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    runtime_ = open();
  }
  ~CapiFixture() override {
    const aqua_code code = code_of(aqua_runtime_close(runtime_));
    EXPECT_TRUE(code == AQUA_OK || code == AQUA_NOT_FOUND) << aqua_code_name(code);
    std::filesystem::remove_all(directory_);
  }

  aqua_runtime open() {
    aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
    options.device = "emu:9";
    options.coordinator = "none";
    options.socket_directory = directory_.c_str();
    options.host_bytes = std::size_t{8} << 20;
    options.emulated = &gpu_;
    aqua_runtime runtime{};
    EXPECT_EQ(code_of(aqua_runtime_open(&options, &runtime)), AQUA_OK);
    return runtime;
  }
  aqua_tensor tensor(std::size_t bytes = 4096) {
    aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
    options.bytes = bytes;
    aqua_tensor made{};
    EXPECT_EQ(code_of(aqua_tensor_allocate(runtime_, &options, &made)), AQUA_OK);
    return made;
  }

  using Calls = std::vector<std::function<aqua_error*()>>;
  // What all calls on a kind, `calls_on(handle)`, say of a handle that is zero, another kind's, or
  // freed.
  template <typename Handle, typename CallsOn>
  void expect_refused(Handle freed, const CallsOn& calls_on) const {
    const auto all_say = [](const Calls& calls, aqua_code code, const char* why) {
      for (std::size_t n = 0; n < calls.size(); ++n)
        EXPECT_EQ(code_of(calls[n]()), code) << why << ", call " << n;
    };
    all_say(calls_on(Handle{}), AQUA_INVALID_ARGUMENT, "zero");
    all_say(calls_on(Handle{runtime_.id}), AQUA_INVALID_ARGUMENT, "a runtime's");
    all_say(calls_on(freed), AQUA_NOT_FOUND, "freed");
  }

  aqua_emulated_gpu gpu_ = AQUA_EMULATED_GPU_INIT;
  std::string directory_;
  aqua_runtime runtime_{};
};

}  // namespace aqua::test
