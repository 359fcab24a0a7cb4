// SPDX-License-Identifier: Apache-2.0
// NULLs, and structs of other ages than the library.
#include <array>
#include <cstring>

#include "tests/capi/capi_fixture.hpp"

namespace aqua::test {
namespace {

class Arguments : public CapiFixture {};

TEST_F(Arguments, NullOutputsAndInputsAreInvalid) {
  const aqua_tensor held = tensor();
  aqua_tensor made{};
  aqua_layout layout{};
  EXPECT_EQ(code_of(aqua_runtime_open(nullptr, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_runtime_get_status(runtime_, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_runtime_get_budget(runtime_, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_runtime_report(runtime_, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_runtime_set_profile(runtime_, nullptr, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_tensor_allocate(runtime_, nullptr, &made)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_tensor_get_tier(held, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_tensor_get_info(held, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_tensor_pin(held, 0, 0, 0, 1, nullptr, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_layout_create(nullptr, &layout)), AQUA_INVALID_ARGUMENT);
  aqua_layout_spec spec = AQUA_LAYOUT_SPEC_INIT;
  spec.plane_count = 4;
  EXPECT_EQ(code_of(aqua_layout_create(&spec, &layout)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_layout_create(&spec, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_pool_create(runtime_, nullptr, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_emulated_stream_create(runtime_, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_emulated_write(runtime_, 0, nullptr, "", 1)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_emulated_launch(runtime_, 0, nullptr, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_tensor_free(held)), AQUA_OK);
}

TEST_F(Arguments, AStructWithoutASizeWasNotInitialised) {
  aqua_tensor_options options{};
  options.bytes = 4096;
  aqua_tensor made{};
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, sizeof options - 1, std::size_t{4097}, SIZE_MAX}) {
    options.struct_size = size;
    EXPECT_EQ(code_of(aqua_tensor_allocate(runtime_, &options, &made)), AQUA_INVALID_ARGUMENT)
        << size;
  }
}

TEST_F(Arguments, AnOlderStructIsReadAsFarAsItGoes) {
  struct Older {
    std::size_t struct_size = sizeof(Older);
    std::size_t bytes = 4096;
  } older;
  aqua_tensor made{};
  ASSERT_EQ(code_of(aqua_tensor_allocate(
                runtime_, reinterpret_cast<const aqua_tensor_options*>(&older), &made)),
            AQUA_OK);
  std::array<std::size_t, 3> info{2 * sizeof(std::size_t), 0, 77};
  ASSERT_EQ(code_of(aqua_tensor_get_info(made, reinterpret_cast<aqua_tensor_info*>(info.data()))),
            AQUA_OK);
  EXPECT_NE(info[1], 0u);   // the tensor's id
  EXPECT_EQ(info[2], 77u);  // not the caller's to give
  EXPECT_EQ(code_of(aqua_tensor_free(made)), AQUA_OK);
}

TEST_F(Arguments, ANewerStructIsTakenAsLongAsItAsksForNothingUnknown) {
  struct Newer {
    aqua_tensor_options known = AQUA_TENSOR_OPTIONS_INIT;
    std::size_t unknown = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  newer.known.bytes = 4096;
  aqua_tensor made{};
  ASSERT_EQ(code_of(aqua_tensor_allocate(runtime_, &newer.known, &made)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_tensor_free(made)), AQUA_OK);
  newer.unknown = 1;
  EXPECT_EQ(code_of(aqua_tensor_allocate(runtime_, &newer.known, &made)), AQUA_INVALID_ARGUMENT);

  struct NewerStatus {
    aqua_runtime_status known = AQUA_RUNTIME_STATUS_INIT;
    std::size_t unknown = 5;
  } status;
  status.known.struct_size = sizeof status;
  ASSERT_EQ(code_of(aqua_runtime_get_status(runtime_, &status.known)), AQUA_OK);
  EXPECT_EQ(status.known.struct_size, sizeof status);
  EXPECT_STREQ(status.known.device, "emu:9");
  EXPECT_EQ(status.unknown, 0u);
}

TEST_F(Arguments, OptionsThatCannotBeAreNamed) {
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  aqua_runtime opened{};
  options.coordinator = "none";
  options.socket_directory = directory_.c_str();
  ::unsetenv("AQUA_DEVICE");
  aqua_error* const unnamed = aqua_runtime_open(&options, &opened);
  EXPECT_EQ(aqua_error_code(unnamed), AQUA_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(aqua_error_message(unnamed), "$AQUA_DEVICE"), nullptr);
  aqua_error_free(unnamed);
  for (const char* device : {"gpu:0", "emu:", "emu:x", "emu:-1", "cuda:x"}) {
    options.device = device;
    const aqua_code code = code_of(aqua_runtime_open(&options, &opened));
    EXPECT_TRUE(code == AQUA_INVALID_ARGUMENT || code == AQUA_UNIMPLEMENTED) << device;
  }
  options.device = "emu:9";
  options.slab_bytes = 5;
  EXPECT_EQ(code_of(aqua_runtime_open(&options, &opened)), AQUA_INVALID_ARGUMENT);
  options.slab_bytes = 0;
  const std::string long_name(100'000, 'x');
  options.name = long_name.c_str();
  options.host_bytes = std::size_t{2} << 20;
  ASSERT_EQ(code_of(aqua_runtime_open(&options, &opened)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_runtime_close(opened)), AQUA_OK);
}

TEST_F(Arguments, LongNamesComeBackCutOff) {
  const std::string name(200, 'n');
  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  options.bytes = 16;
  options.name = name.c_str();
  aqua_tensor made{};
  ASSERT_EQ(code_of(aqua_tensor_allocate(runtime_, &options, &made)), AQUA_OK);
  aqua_tensor_info info = AQUA_TENSOR_INFO_INIT;
  ASSERT_EQ(code_of(aqua_tensor_get_info(made, &info)), AQUA_OK);
  EXPECT_EQ(std::strlen(info.name), AQUA_NAME_BYTES - 1u);
  EXPECT_EQ(code_of(aqua_tensor_free(made)), AQUA_OK);
}

}  // namespace
}  // namespace aqua::test
