// SPDX-License-Identifier: Apache-2.0
// Readers that would write what they were given to read, and requests that the keeper refuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "aqua/published_memory.hpp"
#include "aqua/runtime.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "aqua/sharing/weights_publisher.hpp"
#include "base/memory/memfd.hpp"
#include "base/socket/unix_socket.hpp"
#include "systems/sharing/act/keeper_client.hpp"
#include "systems/sharing/act/sealed_text.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/sharing/small_model.hpp"
#include "tests/systems/sharing/small_runtime.hpp"
#include "tools/keeper/keeper.hpp"

namespace aqua::sharing {
namespace {

namespace keeper = aqua::keeper;
using namespace aqua::literals;

constexpr std::size_t kSlabBytes = 2_MiB;

UniqueFd slab(int seals, std::size_t bytes = kSlabBytes) {
  UniqueFd fd = create_memfd("not-quite-a-slab");
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

void expect_kernel_refuses(const char* call, bool refused, int why) {
  const int error = errno;
  EXPECT_TRUE(refused) << call;
  EXPECT_EQ(error, why) << call;
}

// Tries each call that would change a sealed file by a descriptor: where that could write if there
// were no seal, it is the seal that forbids it.
void expect_unwritable(const UniqueFd& way) {
  ASSERT_TRUE(way.valid()) << std::strerror(errno);
  const int fd = way.get();
  const bool could_write = (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
  const int no_write = could_write ? EPERM : EBADF;
  const char byte = 1;
  expect_kernel_refuses("pwrite", ::pwrite(fd, &byte, 1, 0) < 0, no_write);
  expect_kernel_refuses("ftruncate", ::ftruncate(fd, 0) != 0, could_write ? EPERM : EINVAL);
  expect_kernel_refuses("punch a hole",
                        ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0,
                        no_write);
  expect_kernel_refuses("grow", ::fallocate(fd, 0, 0, 8_MiB) != 0, no_write);
  void* const writable = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  expect_kernel_refuses("mmap to write", writable == MAP_FAILED, could_write ? EPERM : EACCES);
  void* const map = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) {
    EXPECT_EQ(errno, EPERM);
    EXPECT_TRUE(could_write) << "as kernels before 6.7 do then";
    return;
  }
  expect_kernel_refuses("mprotect", ::mprotect(map, 4096, PROT_READ | PROT_WRITE) != 0, EACCES);
  expect_kernel_refuses("madvise", ::madvise(map, 4096, MADV_REMOVE) != 0, EACCES);
  ::munmap(map, 4096);
}

class HostileClients : public ::testing::Test {
 protected:
  Result<KeeperClient::Answer> call(const wire::Request& request, std::vector<int> fds = {}) {
    return client_.call(request, fds);
  }
  void refused(const wire::Request& request, std::vector<int> fds, Code code,
               const std::string& words) {
    const auto answer = call(request, std::move(fds));
    ASSERT_FALSE(answer.ok()) << words;
    EXPECT_EQ(answer.error().code, code) << answer.error().message;
    EXPECT_NE(answer.error().message.find(words), std::string::npos) << answer.error().message;
  }
  CopyId begin(const std::string& version) {
    return call(wire::Publish{.shard = {.model = "small", .version = version}, .device = {}})
        ->reply.copy;
  }

  test::KeeperProcess keeper_;
  KeeperClient client_ = KeeperClient::connect(keeper_.socket()).value();
};

// The kernel refuses each way to change what is published, also by a descriptor opened anew.
TEST_F(HostileClients, AReaderCannotChangeAByte) {
  Runtime runtime = open_small();
  auto publisher = WeightsPublisher::begin(runtime, small_model("1"), keeper_.socket());
  ASSERT_TRUE(publisher.ok() && fill(*publisher, small_model("1"), 7).ok());
  ASSERT_TRUE(publisher->commit().ok());
  const SharedWeights honest =
      SharedWeights::attach(runtime, {.model = "small", .keeper = keeper_.socket()}).value();

  const auto device = parse_id<DeviceTag>(PublishedMemory::device_of(runtime)).value();
  const auto attached =
      call(wire::Attach{.shard = {.model = "small", .version = "1"}, .device = device});
  ASSERT_TRUE(attached.ok()) << attached.error().message;
  const auto fetched = call(wire::Fetch{.copy = attached->reply.copy, .first = 0});
  ASSERT_TRUE(fetched.ok() && fetched->fds.size() == 2);
  for (const int fd : {fetched->fds[0].get(), attached->fds[0].get()}) {
    SCOPED_TRACE(fd == fetched->fds[0].get() ? "a slab" : "the manifest");
    const std::string again = "/proc/self/fd/" + std::to_string(fd);
    expect_unwritable(UniqueFd(::dup(fd)));
    expect_unwritable(UniqueFd(::open(again.c_str(), O_RDWR | O_CLOEXEC)));
    expect_unwritable(UniqueFd(::open(again.c_str(), O_RDONLY | O_CLOEXEC)));
  }
  for (std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    const WeightTensor tensor = honest.tensor(i);
    const auto expected = small_bytes(tensor.bytes, 7, i);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), tensor.address)) << tensor.info->name;
  }
}

TEST_F(HostileClients, SlabsThatSomebodyCouldStillWriteAreRefused) {
  const CopyId copy = begin("1");
  const wire::Add one{.copy = copy, .bytes = {kSlabBytes}};
  const UniqueFd sealed = slab(kSealedForGood);
  for (const int seals :
       {F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
        F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE}) {
    const UniqueFd fd = slab(seals);
    refused(one, {fd.get()}, Code::invalid_argument, "has seals");
  }
  UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  refused(one, {file.get()}, Code::invalid_argument, "not a memfd");
  refused(one, {}, Code::invalid_argument, "1 sizes with 0 descriptors");
  refused({wire::Add{.copy = copy, .bytes = {kSlabBytes, kSlabBytes}}}, {sealed.get(), file.get()},
          Code::invalid_argument, "not a memfd");
  refused({wire::Add{.copy = copy, .bytes = {kSlabBytes + 1}}}, {sealed.get()},
          Code::invalid_argument, "has 2097152");
  refused({wire::Add{.copy = copy, .bytes = {0}}}, {sealed.get()}, Code::invalid_argument,
          "no bytes");
  EXPECT_EQ(list_models(keeper_.socket())->front().bytes, 0U) << "nothing of all that was kept";
  EXPECT_TRUE(call(one, {sealed.get()}).ok());
}

// As CUDA's are: nothing but convention keeps a reader from writing them.
TEST_F(HostileClients, WhatIsNoFileIsTakenForMemoryOfADeviceAndSaidToBeUnprotected) {
  const CopyId copy = begin("1");
  const UniqueFd sealed = slab(kSealedForGood);
  const UniqueFd device(::eventfd(0, EFD_CLOEXEC));
  const UniqueFd text = seal_text("{}").value();
  ASSERT_TRUE(
      call(wire::Add{.copy = copy, .bytes = {kSlabBytes, kSlabBytes}}, {sealed.get(), device.get()})
          .ok());
  ASSERT_TRUE(call(wire::Commit{.copy = copy}, {text.get()}).ok());
  const auto attached =
      call(wire::Attach{.shard = {.model = "small", .version = "1"}, .device = {}});
  ASSERT_TRUE(attached.ok()) << attached.error().message;
  EXPECT_FALSE(attached->reply.enforced);
}

// Its own connection, above all: the keeper would hold both ends.
TEST_F(HostileClients, ASocketIsNoSlab) {
  const CopyId copy = begin("1");
  const UniqueFd own(connect_seqpacket(keeper_.socket()).value());
  refused(wire::Add{.copy = copy, .bytes = {kSlabBytes}}, {own.get()}, Code::invalid_argument,
          "no memory");
}

TEST_F(HostileClients, ACopyWithoutSlabsIsNotCommitted) {
  const UniqueFd text = seal_text("{}").value();
  refused(wire::Commit{.copy = begin("1")}, {text.get()}, Code::invalid_argument, "without slabs");
}

TEST_F(HostileClients, AManifestThatIsNoSealedTextIsRefused) {
  const CopyId copy = begin("1");
  const UniqueFd sealed = slab(kSealedForGood);
  ASSERT_TRUE(call(wire::Add{.copy = copy, .bytes = {kSlabBytes}}, {sealed.get()}).ok());
  const UniqueFd open_file = create_memfd("unsealed");
  refused(wire::Commit{.copy = copy}, {open_file.get()}, Code::invalid_argument, "has seals");
  refused(wire::Commit{.copy = copy}, {}, Code::invalid_argument, "0 descriptors");
  const UniqueFd text = seal_text("{}").value();
  refused(wire::Commit{.copy = copy}, {text.get(), text.get()}, Code::invalid_argument,
          "2 descriptors");
}

TEST_F(HostileClients, WhatIsAnothersCannotBeFilledCommittedOrRead) {
  const CopyId copy = begin("1");
  KeeperClient other = KeeperClient::connect(keeper_.socket()).value();
  const UniqueFd sealed = slab(kSealedForGood);
  const UniqueFd text = seal_text("{}").value();
  const int fd = sealed.get();
  const int manifest = text.get();
  const auto code = [](const Result<KeeperClient::Answer>& answer) {
    return answer.ok() ? Code::internal : answer.error().code;
  };
  EXPECT_EQ(code(other.call(wire::Add{.copy = copy, .bytes = {kSlabBytes}}, {&fd, 1})),
            Code::not_found);
  EXPECT_EQ(code(other.call(wire::Commit{.copy = copy}, {&manifest, 1})), Code::not_found);
  EXPECT_EQ(code(other.call(wire::Fetch{.copy = copy})), Code::not_found);
  EXPECT_EQ(code(other.call(wire::Detach{.copy = copy})), Code::not_found);
  EXPECT_EQ(code(other.call(wire::Commit{.copy = 99}, {&manifest, 1})), Code::not_found);
}

// A reader checks what the keeper passes on: whoever published may have lied.
TEST_F(HostileClients, ALyingManifestIsNotAttached) {
  Runtime runtime = open_small();
  const auto device = parse_id<DeviceTag>(PublishedMemory::device_of(runtime)).value();
  const Manifest truth = small_model("0");
  struct Lie {
    std::string words;
    std::function<void(Manifest&)> tell;
  };
  const Lie lies[] = {
      {"norm", [](Manifest& m) { m.tensors[2].offset = std::uint64_t{1} << 40; }},
      {"norm: has bytes of qkv", [](Manifest& m) { m.tensors[2].offset = 0; }},
      {"a view of", [](Manifest& m) { m.tensors[0].view_of = 1; }},
      {"manifest of other", [](Manifest& m) { m.model = "other"; }},
      {"small 77", [](Manifest& m) { m.version = "77"; }},
      {"3 in the manifest", [](Manifest& m) { m.slabs.push_back(kSlabBytes); }},
      {"slab 1 of 2097152 bytes", [](Manifest& m) { m.slabs[1] *= 2; }},
  };
  int number = 0;
  for (const Lie& lie : lies) {
    Manifest manifest = truth;
    manifest.version = std::to_string(number++);
    const ShardName shard{.model = "small", .version = manifest.version};
    lie.tell(manifest);
    const CopyId copy = call(wire::Publish{.shard = shard, .device = device})->reply.copy;
    const UniqueFd a = slab(kSealedForGood);
    const UniqueFd b = slab(kSealedForGood);
    ASSERT_TRUE(
        call(wire::Add{.copy = copy, .bytes = {kSlabBytes, kSlabBytes}}, {a.get(), b.get()}).ok());
    const UniqueFd text = seal_text(to_json(manifest)).value();
    ASSERT_TRUE(call(wire::Commit{.copy = copy}, {text.get()}).ok());
    for (const std::string& wanted : {shard.version, std::string()}) {  // it is the newest, too
      const auto attached = SharedWeights::attach(
          runtime, {.model = "small", .version = wanted, .keeper = keeper_.socket()});
      ASSERT_FALSE(attached.ok()) << lie.words;
      EXPECT_EQ(attached.error().code, Code::invalid_argument) << attached.error().message;
      EXPECT_NE(attached.error().message.find(lie.words), std::string::npos)
          << attached.error().message;
    }
  }
  EXPECT_EQ(list_models(keeper_.socket())->back().readers, 0U);
}

// Its bytes are zeroes, and one tensor's digest is not of those.
TEST_F(HostileClients, ADigestThatIsNotOfTheBytesIsFoundByVerifying) {
  Runtime runtime = open_small();
  const auto device = parse_id<DeviceTag>(PublishedMemory::device_of(runtime)).value();
  const CopyId copy =
      call(wire::Publish{.shard = {.model = "small", .version = "1"}, .device = device})
          ->reply.copy;
  const UniqueFd a = slab(kSealedForGood);
  const UniqueFd b = slab(kSealedForGood);
  ASSERT_TRUE(
      call(wire::Add{.copy = copy, .bytes = {kSlabBytes, kSlabBytes}}, {a.get(), b.get()}).ok());
  const UniqueFd text = seal_text(to_json(small_model("1"))).value();
  ASSERT_TRUE(call(wire::Commit{.copy = copy}, {text.get()}).ok());
  SharedWeights weights =
      SharedWeights::attach(runtime, {.model = "small", .keeper = keeper_.socket()}).value();
  const auto verified = weights.verify();
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().code, Code::data_loss);
  EXPECT_NE(verified.error().message.find("qkv"), std::string::npos) << verified.error().message;
}

TEST_F(HostileClients, WhatIsNoRequestIsRefusedOrEndsTheConnection) {
  const auto raw = [&](const std::string& packet) -> std::string {
    const UniqueFd fd = connect_seqpacket(keeper_.socket()).value();
    EXPECT_TRUE(
        send_message(fd.get(), std::as_bytes(std::span(packet)), {}, std::chrono::seconds(5)).ok());
    const auto answer = receive_message(fd.get(), wire::kMaxPacket, std::chrono::seconds(60));
    if (!answer.ok() || answer->bytes.empty()) return "closed";
    return {reinterpret_cast<const char*>(answer->bytes.data()), answer->bytes.size()};
  };
  for (const char* packet : {"x", "{}", "[]", R"({"op":"steal"})", R"({"op":"fetch"})",
                             R"({"op":"detach","copy":-1})", R"({"op":"models","first":0.5})"}) {
    EXPECT_NE(raw(packet).find("invalid_argument"), std::string::npos) << packet;
  }
  EXPECT_EQ(raw(std::string(wire::kMaxPacket + 1, 'x')), "closed");
  EXPECT_TRUE(list_models(keeper_.socket()).ok()) << "and it goes on";
}

// With room for four connections.
TEST(KeeperLimits, WhoConnectsWithoutANeedMakesRoomAndWhoPublishesDoesNot) {
  const aqua::testing::TempDir directory;
  const std::string socket = directory / "k";
  const auto keeper =
      keeper::Keeper::start({.socket = socket, .connections = 4, .of_one_process = 8}).value();
  const auto publisher = [&](const std::string& version) {
    KeeperClient client = KeeperClient::connect(socket).value();
    EXPECT_TRUE(
        client.call(wire::Publish{.shard = {.model = "m", .version = version}, .device = {}}).ok());
    return client;
  };
  std::vector<KeeperClient> busy;
  busy.push_back(publisher("1"));
  KeeperClient idle = KeeperClient::connect(socket).value();
  ASSERT_TRUE(idle.call(wire::ListModels{}).ok());
  for (const char* version : {"2", "3", "4"}) busy.push_back(publisher(version));
  EXPECT_EQ(idle.call(wire::ListModels{}).error().code, Code::unavailable) << "it made room";
  KeeperClient late = KeeperClient::connect(socket).value();
  EXPECT_EQ(late.call(wire::ListModels{}).error().code, Code::unavailable) << "nobody does now";
  for (KeeperClient& client : busy) EXPECT_TRUE(client.call(wire::ListModels{}).ok());
  busy.pop_back();
  KeeperClient next = KeeperClient::connect(socket).value();
  EXPECT_TRUE(next.call(wire::ListModels{}).ok()) << "whoever leaves makes room";
}

TEST(KeeperLimits, SlabsAndCopiesAreBounded) {
  const aqua::testing::TempDir directory;
  const std::string socket = directory / "k";
  const auto keeper = keeper::Keeper::start({.socket = socket, .most_slabs = 2}).value();
  KeeperClient client = KeeperClient::connect(socket).value();
  const auto publish = [&](const std::string& version) {
    return client.call(wire::Publish{.shard = {.model = "m", .version = version}, .device = {}});
  };
  const CopyId copy = publish("1")->reply.copy;
  const UniqueFd one = slab(kSealedForGood);
  const std::vector<int> three(3, one.get());
  const auto added =
      client.call(wire::Add{.copy = copy, .bytes = {kSlabBytes, kSlabBytes, kSlabBytes}}, three);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::resource_exhausted);
  ASSERT_TRUE(publish("2").ok());
  EXPECT_EQ(publish("3").error().code, Code::resource_exhausted);
  const auto listed = client.call(wire::ListModels{});
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->reply.models.size(), 2U) << "what was refused left nothing";
}

}  // namespace
}  // namespace aqua::sharing
