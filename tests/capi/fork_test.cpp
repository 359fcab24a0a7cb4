// SPDX-License-Identifier: Apache-2.0
// A forked child has copies of every handle and owns nothing behind them.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/base/sanitized.hpp"
#include "tests/capi/capi_fixture.hpp"

namespace aqua::test {
namespace {

class Fork : public CapiFixture {
 protected:
  // TSan allows no threads in the child of a process with threads; ASan's allocator (gcc 12, clang
  // 14) hands it the locks that the parent's threads held, for ever.
  void SetUp() override {
#ifdef AQUA_SANITIZED
    GTEST_SKIP() << "a sanitizer, whose runtime does not survive fork() beside threads";
#endif
    CapiFixture::SetUp();
  }
  // Runs `body` in a child; its result must be true.
  template <typename Body>
  static void in_child(Body&& body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(body() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
};

TEST_F(Fork, EveryHandleOfTheParentIsAFailedPrecondition) {
  const aqua_tensor held = tensor();
  aqua_pin pin{};
  ASSERT_EQ(code_of(aqua_tensor_pin(held, AQUA_ACCESS_READ, 0, 0, 16, &pin, nullptr)), AQUA_OK);
  in_child([&] {
    aqua_tier tier = 0;
    aqua_pin other{};
    return code_of(aqua_tensor_get_tier(held, &tier)) == AQUA_FAILED_PRECONDITION &&
           code_of(aqua_tensor_pin(held, 0, 0, 0, 1, &other, nullptr)) ==
               AQUA_FAILED_PRECONDITION &&
           code_of(aqua_pin_release(pin)) == AQUA_FAILED_PRECONDITION &&
           code_of(aqua_tensor_free(held)) == AQUA_FAILED_PRECONDITION &&
           code_of(aqua_runtime_tick(runtime_)) == AQUA_FAILED_PRECONDITION &&
           code_of(aqua_runtime_close(runtime_)) == AQUA_FAILED_PRECONDITION;
  });
  EXPECT_EQ(code_of(aqua_pin_release(pin)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_tensor_free(held)), AQUA_OK);
}

TEST_F(Fork, AChildOpensARuntimeOfItsOwn) {
  in_child([&] {
    aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
    options.device = "emu:10";
    options.coordinator = "none";
    options.socket_directory = directory_.c_str();
    options.host_bytes = std::size_t{2} << 20;
    aqua_runtime own{};
    aqua_tensor_options wanted = AQUA_TENSOR_OPTIONS_INIT;
    wanted.bytes = 4096;
    aqua_tensor made{};
    return code_of(aqua_runtime_open(&options, &own)) == AQUA_OK && own.id != runtime_.id &&
           code_of(aqua_tensor_allocate(own, &wanted, &made)) == AQUA_OK &&
           code_of(aqua_tensor_free(made)) == AQUA_OK &&
           code_of(aqua_runtime_close(own)) == AQUA_OK;
  });
}

}  // namespace
}  // namespace aqua::test
