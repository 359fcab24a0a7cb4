// SPDX-License-Identifier: Apache-2.0
// What only the emulated GPU does: hostility, and links with a speed.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>

#include "device/memfd/device.hpp"
#include "tests/device/contract.hpp"

namespace aqua::device {
namespace {

std::unique_ptr<Device> open(EmulatedOptions options) {
  options.total_bytes = 16_MiB;
  return open_emulated(options).value();
}

// The signal that kills a child which reads `address`, or 0.
int signal_of_reading(const std::byte* address) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(SIGSEGV, SIG_DFL);
    (void)*const_cast<const volatile std::byte*>(address);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(HostileDevice, AHostThreadThatReadsADeviceAddressDies) {
  const auto device = open({.hostile = true});
  const Place place = make_place(*device, 2_MiB);
  EXPECT_EQ(signal_of_reading(place.base()), SIGSEGV);
  EXPECT_EQ(signal_of_reading(place.base() + 2_MiB - 1), SIGSEGV);
  EXPECT_EQ(signal_of_reading(place.base() + 2_MiB), SIGSEGV);
  EXPECT_EQ(signal_of_reading(kernel_view(place.base())), 0);
}

TEST(HostileDevice, SystemCallsCannotReadADeviceAddressEither) {
  const auto device = open({.hostile = true});
  const Place place = make_place(*device, 2_MiB);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd out(ends[0]);
  const UniqueFd in(ends[1]);
  EXPECT_EQ(::write(in.get(), place.base(), 1), -1);
  EXPECT_EQ(errno, EFAULT);
}

TEST(HostileDevice, AnUnmappedPlaceIsClosedEvenToKernels) {
  const auto device = open({.hostile = true});
  const Place place = make_place(*device, 2_MiB);
  ASSERT_TRUE(device->unmap(*place.range, 0, 2_MiB).ok());
  EXPECT_EQ(signal_of_reading(kernel_view(place.base())), SIGSEGV);
}

TEST(EmulatedDevice, ADeviceThatIsNotHostileLendsHostsItsAddresses) {
  const auto device = open({});
  const Place place = make_place(*device, 2_MiB);
  EXPECT_EQ(kernel_view(place.base()), place.base());
  EXPECT_EQ(signal_of_reading(place.base()), 0);
  ASSERT_TRUE(device->unmap(*place.range, 0, 2_MiB).ok());
  EXPECT_EQ(signal_of_reading(place.base()), SIGSEGV);
}

TEST(HostileDevice, AnAddressThatIsNoDevicesIsItsOwnView) {
  const auto device = open({.hostile = true});
  std::byte local{};
  EXPECT_EQ(kernel_view(&local), &local);
  EXPECT_EQ(kernel_view(static_cast<std::byte*>(nullptr)), nullptr);
}

TEST(HostileDevice, StreamsThatNoEventOrdersRunInEitherOrder) {
  const auto device = open({.hostile = true});
  const Stream first = device->create_stream().value();
  const Stream second = device->create_stream().value();
  bool overtaken = false;
  for (int round = 0; round < 1'000 && !overtaken; ++round) {
    std::atomic<bool> done{false};
    EXPECT_OK(launch(*device, first, [&] { done.store(true); }));
    EXPECT_OK(launch(*device, second, [&] { overtaken = !done.load(); }));
    EXPECT_OK(finish(*device, first));
    EXPECT_OK(finish(*device, second));
  }
  EXPECT_TRUE(overtaken);
}

TEST(EmulatedDevice, DevicesAreToldApartByTheirOrdinal) {
  const auto zero = open({.ordinal = 0});
  const auto one_device = open({.ordinal = 1});
  EXPECT_EQ(one_device->info().name, "emu:1");
  EXPECT_EQ(one_device->info().kind, Kind::emulated);
  EXPECT_NE(zero->info().uuid, one_device->info().uuid);
}

TEST(EmulatedDevice, CopiesOverALinkTakeAtLeastItsTimeAndOthersDoNot) {
  constexpr std::uint64_t kRate = 20'000'000;  // 1 MiB in 52 ms
  const auto device = open({.link_bytes_per_second = kRate});
  const Place own = make_place(*device, 2_MiB);
  const auto fd = [&] { return device->export_slab(*own.slab).value(); };
  const Place imported = place_slab(*device, device->import_slab(fd(), 2_MiB).value());
  std::vector<std::byte> host(1_MiB);
  const auto time = [&](std::byte* dst, const std::byte* src) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_OK(device->copy(one(dst, src, 1_MiB), {}));
    EXPECT_OK(finish(*device, {}));
    return std::chrono::steady_clock::now() - start;
  };
  const std::chrono::milliseconds least(52);
  EXPECT_GE(time(own.base(), host.data()), least);
  EXPECT_GE(time(host.data(), own.base()), least);
  EXPECT_GE(time(own.base() + 1_MiB, imported.base()), least);
  auto fastest = time(own.base() + 1_MiB, own.base());
  for (int i = 0; i < 4; ++i) fastest = std::min(fastest, time(own.base() + 1_MiB, own.base()));
  EXPECT_LT(fastest, least);
}

TEST(EmulatedDevice, StreamsShareALinkAndPeersHaveOneOfTheirOwn) {
  constexpr std::uint64_t kRate = 20'000'000;  // 1 MiB in 52 ms
  const auto device =
      open({.link_bytes_per_second = kRate, .peer_bytes_per_second = 1'000 * kRate});
  const Place own = make_place(*device, 4_MiB);
  const Place peer = place_slab(
      *device, device->import_slab(device->export_slab(*own.slab).value(), 4_MiB).value());
  std::vector<std::byte> host(1_MiB);
  const Stream other = device->create_stream().value();
  const auto time = [&](const std::byte* src) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_OK(device->copy(one(own.base(), src, 1_MiB), {}));
    EXPECT_OK(device->copy(one(own.base() + 1_MiB, src, 1_MiB), other));
    EXPECT_OK(finish(*device, {}));
    EXPECT_OK(finish(*device, other));
    return std::chrono::steady_clock::now() - start;
  };
  const std::chrono::milliseconds least(104);
  EXPECT_GE(time(host.data()), least);
  auto fastest = time(peer.base() + 2_MiB);
  for (int i = 0; i < 4; ++i) fastest = std::min(fastest, time(peer.base() + 2_MiB));
  EXPECT_LT(fastest, least);
}

TEST(HostDevice, TakesAQuarterOfTheServersMemoryUnlessTold) {
  const auto device = open_host({}).value();
  const auto memory = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_LE(device->info().total_bytes, memory / 4);
  EXPECT_GT(device->info().total_bytes, memory / 4 - 2_MiB);
  EXPECT_EQ(device->info().kind, Kind::host);
}

TEST(MemfdDevices, EachMapsAndOrdersTheOthers) {
  const auto gpu = open({.hostile = true});
  const auto host = open_host({.total_bytes = 4_MiB}).value();
  const Place on_gpu = make_place(*gpu, 2_MiB);
  const Place on_host = place_slab(*gpu, host->create_slab(2_MiB).value());
  const auto bytes = pattern(2_MiB, 5);
  upload(*gpu, on_gpu.base(), bytes);
  const auto moved = gpu->create_event().value();
  EXPECT_OK(gpu->copy(one(on_host.base(), on_gpu.base(), 2_MiB), {}));
  EXPECT_OK(gpu->record(*moved, {}));
  EXPECT_OK(host->wait_event({}, *moved));
  EXPECT_TRUE(download(*host, on_host.base(), 2_MiB) == bytes);
}

}  // namespace
}  // namespace aqua::device
