// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/runtime_fixture.hpp"

#include <cstdlib>
#include <filesystem>

#include "coordinator/daemon.hpp"
#include "tests/base/eventually.hpp"

namespace aqua::test {

struct RuntimeFixture::Daemon {
  std::unique_ptr<coordinator::Daemon> daemon;
};

RuntimeFixture::RuntimeFixture() {
  char pattern[] = "/tmp/aqua-test-XXXXXX";
  directory_ = ::mkdtemp(pattern);
  start_daemon();
}

RuntimeFixture::~RuntimeFixture() {
  daemon_.reset();
  std::filesystem::remove_all(directory_);
}

void RuntimeFixture::start_daemon() {
  coordinator::Options options;
  options.data = directory_ + "/data";
  options.listen.path = directory_ + "/coordinator.sock";
  options.lifeline = directory_ + "/lifeline.sock";
  options.log_level = "off";
  options.limits.share_device = one_device_;
  auto daemon = coordinator::Daemon::start(options);
  if (!daemon.ok()) FAIL() << daemon.error().message;
  daemon_ = std::make_unique<Daemon>(Daemon{std::move(daemon).value()});
}

void RuntimeFixture::stop_daemon() {
  daemon_.reset();
}

std::optional<Runtime> RuntimeFixture::open(RuntimeOptions options) {
  if (options.coordinator.empty()) options.coordinator = "unix:" + directory_ + "/coordinator.sock";
  options.socket_directory = directory_;
  options.slab_bytes = std::size_t{4} << 20;
  options.emulated.hostile = true;
  auto runtime = Runtime::open(options);
  if (!runtime.ok()) {
    ADD_FAILURE() << runtime.error().message;
    std::abort();
  }
  return std::move(runtime).value();
}

void RuntimeFixture::stamp(Runtime& runtime, AquaTensor& tensor, std::uint64_t seed) {
  auto pin = tensor.pin(Access::write, Stream{});
  ASSERT_TRUE(pin.ok()) << pin.error().message;
  ASSERT_TRUE(
      emulated::launch(runtime, Stream{}, [address = pin->data(), bytes = pin->bytes(), seed] {
        std::byte* const view = emulated::kernel_view(address);
        for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
          const std::uint64_t word = seed * 0x9e3779b97f4a7c15u + i;
          std::memcpy(view + i, &word, sizeof word);
        }
      }).ok());
}

std::size_t RuntimeFixture::mismatches(Runtime& runtime, AquaTensor& tensor, std::uint64_t seed) {
  auto pin = tensor.pin(Access::read, Stream{});
  if (!pin.ok()) {
    ADD_FAILURE() << pin.error().message;
    return SIZE_MAX;
  }
  auto wrong = std::make_shared<std::size_t>(0);
  auto launched = emulated::launch(
      runtime, Stream{}, [address = pin->data(), bytes = pin->bytes(), seed, wrong] {
        const std::byte* const view = emulated::kernel_view(static_cast<const std::byte*>(address));
        for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
          std::uint64_t word = 0;
          std::memcpy(&word, view + i, sizeof word);
          *wrong += word != seed * 0x9e3779b97f4a7c15u + i;
        }
      });
  pin->release();
  EXPECT_TRUE(launched.ok());
  EXPECT_TRUE(emulated::synchronize(runtime, Stream{}).ok());
  return *wrong;
}

void RuntimeFixture::await(const std::function<bool()>& condition) {
  ASSERT_TRUE(eventually(std::chrono::seconds{20}, condition)) << "what was awaited did not happen";
}

}  // namespace aqua::test
