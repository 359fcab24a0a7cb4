// SPDX-License-Identifier: Apache-2.0
// Processes that ask the keeper for segments that are not theirs, and keepers' answers that cannot
// be.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "aqua/host_memory.hpp"
#include "base/memory/memfd.hpp"
#include "base/socket/packet_server.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/wake_event.hpp"
#include "keeper_client/segment_client.hpp"
#include "tests/base/code_of.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/keeper/kept_descriptors.hpp"

namespace aqua {
namespace {

using segment_wire::Request;
constexpr std::uint64_t kUnit = std::uint64_t{2} << 20;

class HostileSegments : public ::testing::Test {
 protected:
  [[nodiscard]] SegmentClient connect() const {
    return SegmentClient::connect(keeper_.socket()).value();
  }
  [[nodiscard]] SegmentClient join() const {
    SegmentClient client = connect();
    EXPECT_TRUE(client.call(segment_wire::Join{}).ok());
    return client;
  }
  static std::string code_of(SegmentClient& client, const Request& request) {
    return aqua::code_of(client.call(request));
  }
  static std::uint64_t reserve(SegmentClient& client, std::uint64_t bytes = kUnit) {
    const auto reserved = client.call(segment_wire::Reserve{bytes});
    EXPECT_TRUE(reserved.ok());
    return reserved.ok() ? reserved->reply.name.number : 0;
  }

  mutable test::KeeperProcess keeper_;
};

TEST_F(HostileSegments, WhoHasNotJoinedHasNothing) {
  SegmentClient member = join();
  const std::uint64_t number = reserve(member);
  SegmentClient stranger = connect();
  for (const Request& request : std::vector<Request>{
           segment_wire::Reserve{kUnit}, segment_wire::Commit{number, 1, {}},
           segment_wire::Open{number, 1}, segment_wire::Close{number}, segment_wire::GiveUp{number},
           segment_wire::Returned{}, segment_wire::Leave{}}) {
    EXPECT_EQ(code_of(stranger, request), "not_found");
  }
  EXPECT_EQ(code_of(member, segment_wire::Join{}), "already_exists");
  EXPECT_EQ(code_of(member, segment_wire::Commit{number, 1, {}}), "ok");
}

TEST_F(HostileSegments, NobodyTouchesWhatAnotherWritesOrReads) {
  SegmentClient writer = join();
  SegmentClient other = join();
  const std::uint64_t number = reserve(writer);
  EXPECT_EQ(code_of(other, segment_wire::Commit{number, 1, {}}), "not_found");
  EXPECT_EQ(code_of(other, segment_wire::GiveUp{number}), "not_found");
  EXPECT_EQ(code_of(other, segment_wire::Open{number, 0}), "not_found") << "nothing is kept";
  EXPECT_EQ(code_of(other, segment_wire::Open{number, 1}), "not_found");
  EXPECT_EQ(code_of(other, segment_wire::Drop{number, 0}), "not_found");
  EXPECT_EQ(code_of(writer, segment_wire::Commit{number, kUnit + 1, {}}), "invalid_argument");
  ASSERT_EQ(code_of(writer, segment_wire::Commit{number, kUnit, {}}), "ok");
  EXPECT_EQ(code_of(writer, segment_wire::Commit{number, kUnit, {}}), "failed_precondition");
  EXPECT_EQ(code_of(other, segment_wire::Close{number}), "not_found");
  ASSERT_EQ(code_of(other, segment_wire::Open{number, 1}), "ok");
  EXPECT_EQ(code_of(other, segment_wire::Open{number, 1}), "already_exists");
  EXPECT_EQ(code_of(writer, segment_wire::Close{number}), "not_found");
}

TEST_F(HostileSegments, ItsMemoryIsZeroAndCannotBeResizedOrSealedOrOpenedByOthers) {
  SegmentClient client = join();
  const auto reserved = client.call(segment_wire::Reserve{1});
  ASSERT_TRUE(reserved.ok());
  EXPECT_EQ(reserved->reply.capacity, kUnit) << "rounded up";
  ASSERT_EQ(reserved->fds.size(), 1U);
  const int fd = reserved->fds[0].get();
  EXPECT_NE(::ftruncate(fd, 4096), 0);
  EXPECT_NE(::ftruncate(fd, 2 * kUnit), 0);
  EXPECT_NE(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0) << "not against its writer";
  struct stat info {};
  ASSERT_EQ(::fstat(fd, &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(static_cast<std::uint64_t>(info.st_size), kUnit);
  void* const memory = ::mmap(nullptr, kUnit, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::vector<char> zeroes(kUnit);
  EXPECT_EQ(std::memcmp(memory, zeroes.data(), kUnit), 0);
  ::munmap(memory, kUnit);
}

TEST_F(HostileSegments, DescriptorsThatNobodyAskedForAreRefused) {
  SegmentClient client = join();
  const UniqueFd raw = connect_seqpacket(keeper_.socket()).value();
  const UniqueFd event = make_wake_event().value();
  const std::vector<int> fds{event.get()};
  const std::string packet = segment_wire::encode(segment_wire::Join{});
  ASSERT_TRUE(
      send_message(raw.get(), std::as_bytes(std::span(packet)), fds, std::chrono::seconds(5)).ok());
  const auto answer = receive_message(raw.get(), keeper_wire::kMaxPacket, std::chrono::seconds(5));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(segment_wire::decode_reply(text_of(*answer)).error().code, Code::invalid_argument);
}

TEST_F(HostileSegments, FloodsOfReservationsAndMembersEndAtTheirBounds) {
  keeper_.stop();
  keeper_.start({AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--segment-bytes",
                 std::to_string(40 * kUnit)});
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    std::vector<SegmentClient> members;
    for (int i = 0; i < 64; ++i) members.push_back(join());
    SegmentClient last = connect();
    EXPECT_EQ(code_of(last, segment_wire::Join{}), "resource_exhausted") << "of one process";
    std::size_t reserved = 0;
    while (code_of(members[reserved % 64], segment_wire::Reserve{kUnit}) == "ok") ++reserved;
    EXPECT_EQ(reserved, 20U) << "half of all for one process, whichever members ask";
    EXPECT_EQ(code_of(members[0], segment_wire::Reserve{keeper_wire::kMostBytes}),
              "resource_exhausted");
    EXPECT_EQ(code_of(members[0], segment_wire::Reserve{0}), "invalid_argument");
    members.erase(members.begin());  // hangs up, with what it had
    SegmentClient again = join();
    EXPECT_EQ(code_of(again, segment_wire::Reserve{kUnit}), "ok");
  }
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
}

TEST_F(HostileSegments, WhoJoinAndHangUpForEverTakeNothing) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  for (int i = 0; i < 300; ++i) {
    SegmentClient client = join();
    (void)reserve(client);
  }
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
}

// The file at the socket's path lets only its user in; and where it lets others in, the keeper
// does not.
TEST_F(HostileSegments, AnotherUserIsNotHeard) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  constexpr uid_t kNobody = 65534;
  const std::string socket = keeper_.socket();
  // 0: it could not connect; 1: it was not answered; 2: it was.
  const auto try_as_nobody = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) std::_Exit(9);
      const auto raw = connect_seqpacket(socket);
      if (!raw.ok()) std::_Exit(0);
      const std::string packet = segment_wire::encode(segment_wire::Join{});
      (void)send_message(raw->get(), std::as_bytes(std::span(packet)), {}, std::chrono::seconds(5));
      const auto answer =
          receive_message(raw->get(), keeper_wire::kMaxPacket, std::chrono::seconds(5));
      std::_Exit(answer.ok() && !answer->bytes.empty() ? 2 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  ASSERT_EQ(::chmod(socket.substr(0, socket.rfind('/')).c_str(), 0755), 0);
  EXPECT_EQ(try_as_nobody(), 0);
  ASSERT_EQ(::chmod(socket.c_str(), 0666), 0);
  EXPECT_EQ(try_as_nobody(), 1);
}

TEST_F(HostileSegments, RubbishIsAnsweredAndChangesNothing) {
  SegmentClient member = join();
  const std::uint64_t number = reserve(member);
  const UniqueFd raw = connect_seqpacket(keeper_.socket()).value();
  for (const std::string packet :
       {R"({"op":"segment-"})", R"({"op":"segment-reserve","bytes":"much"})",
        R"({"op":"segment-open","number":1e300,"generation":0})",
        R"({"op":"segment-list","first":-1})"}) {
    ASSERT_TRUE(
        send_message(raw.get(), std::as_bytes(std::span(packet)), {}, std::chrono::seconds(5))
            .ok());
    const auto answer =
        receive_message(raw.get(), keeper_wire::kMaxPacket, std::chrono::seconds(5));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(segment_wire::decode_reply(text_of(*answer)).error().code, Code::invalid_argument)
        << packet;
  }
  EXPECT_EQ(code_of(member, segment_wire::Commit{number, 1, {}}), "ok");
}

// A keeper of the same user that answers every request with this memory.
class LyingKeeper final : private PacketHandler {
 public:
  explicit LyingKeeper(UniqueFd memory)
      : memory_(std::move(memory)), event_(make_wake_event().value()) {
    server_ = PacketServer::open(socket(), *this, {}).value();
  }
  [[nodiscard]] std::string socket() const { return dir_ / "keeper.sock"; }

 private:
  std::optional<Answer> on_packet(const PacketPeer& /*from*/, Message packet) override {
    const auto request = segment_wire::decode_request(text_of(packet)).value().value();
    segment_wire::Reply reply{.name = {.number = 1}, .capacity = kUnit};
    const bool joins = std::holds_alternative<segment_wire::Join>(request);
    const std::string text = segment_wire::encode(reply);
    const auto bytes = std::as_bytes(std::span(text));
    return Answer{.bytes = {bytes.begin(), bytes.end()},
                  .kept_fds = {joins ? event_.get() : memory_.get()}};
  }
  void on_closed(std::uint64_t /*number*/) override {}
  [[nodiscard]] bool dispensable(std::uint64_t /*number*/) const override { return true; }

  testing::TempDir dir_;
  UniqueFd memory_, event_;
  std::unique_ptr<PacketServer> server_;
};

UniqueFd memory_of(std::size_t bytes, int seals) {
  UniqueFd fd = create_memfd("a-segment");
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

TEST(LyingKeepers, MemoryThatCouldFaultLaterIsNotMapped) {
  constexpr int kGood = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  test::StampedCache cache;
  const auto code = [&](UniqueFd memory) {
    const LyingKeeper keeper(std::move(memory));
    return aqua::code_of(Segments::open(
        cache.runtime(), {.segment_bytes = kUnit, .ready = 1, .keeper = keeper.socket()}));
  };
  EXPECT_EQ(code(memory_of(kUnit, F_SEAL_GROW | F_SEAL_SEAL)), "invalid_argument");
  EXPECT_EQ(code(memory_of(kUnit, F_SEAL_SHRINK | F_SEAL_GROW)), "invalid_argument");
  EXPECT_EQ(code(memory_of(kUnit / 2, kGood)), "invalid_argument") << "shorter than said";
  EXPECT_EQ(code(UniqueFd(::open("/dev/zero", O_RDWR | O_CLOEXEC))), "invalid_argument");
  EXPECT_EQ(code(make_wake_event().value()), "invalid_argument");
  EXPECT_EQ(code(memory_of(kUnit, kGood)), "ok");
}

TEST(HostMemory, RefusesWhatItCannotMapAndGathersOnlyIntoWhatItMayWrite) {
  constexpr int kGood = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  test::StampedCache cache;
  const UniqueFd memory = memory_of(kUnit, kGood);
  const auto blocks = test::StampedCache::blocks(2);
  EXPECT_EQ(HostMemory::map(cache.runtime(), {memory.get(), 0}, Access::read).error().code,
            Code::invalid_argument);
  EXPECT_EQ(HostMemory::map(cache.runtime(), {memory.get(), kUnit + 1}, Access::read).error().code,
            Code::invalid_argument);
  EXPECT_EQ(HostMemory::map(cache.runtime(), {-1, kUnit}, Access::read).error().code,
            Code::invalid_argument);
  auto reading = HostMemory::map(cache.runtime(), {memory.get(), kUnit}, Access::read).value();
  EXPECT_EQ(reading.gather(cache.layout(), blocks, 0, cache.stream()).error().code,
            Code::permission_denied);
  auto writing = HostMemory::map(cache.runtime(), {memory.get(), kUnit}, Access::write).value();
  struct stat taken {};
  ASSERT_EQ(::fstat(memory.get(), &taken), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(taken.st_blocks) * 512, kUnit) << "its pages are there";
  cache.stamp(blocks, 3);
  ASSERT_TRUE(writing.gather(cache.layout(), blocks, 64, cache.stream()).ok());
  const auto others = test::StampedCache::blocks(2, 9);
  ASSERT_TRUE(reading.scatter(64, cache.layout(), others, cache.stream()).ok());
  EXPECT_TRUE(cache.stamped(others, 3));
  EXPECT_EQ(writing.gather(cache.layout(), blocks, kUnit - 1, cache.stream()).error().code,
            Code::invalid_argument);
  const std::vector<std::uint32_t> twice{1, 1};
  EXPECT_EQ(writing.gather(cache.layout(), twice, 0, cache.stream()).error().code,
            Code::invalid_argument);
}

// Whether this thread of the process is blocked.
bool is_blocked(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text[name_end + 2] == 'S';
}

TEST(HostMemory, EverybodyWhoWaitsWaitsForEveryCopy) {
  test::StampedCache cache;
  const UniqueFd memory = memory_of(kUnit, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  auto mapped = HostMemory::map(cache.runtime(), {memory.get(), kUnit}, Access::write).value();
  std::promise<void> gate;
  ASSERT_TRUE(
      emulated::launch(cache.runtime(), cache.stream(), [opened = gate.get_future().share()] {
        opened.wait();
      }).ok());
  EXPECT_TRUE(mapped.gather(cache.layout(), test::StampedCache::blocks(2), 0, cache.stream()).ok());
  std::atomic<bool> open{false};
  const auto wait = [&](std::atomic<pid_t>& thread) {
    thread = ::gettid();
    EXPECT_TRUE(mapped.wait().ok());
    return open.load();
  };
  std::atomic<pid_t> one{0}, other{0};
  auto first = std::async(std::launch::async, wait, std::ref(one));
  EXPECT_TRUE(test::eventually([&] { return is_blocked(one); }));
  auto second = std::async(std::launch::async, wait, std::ref(other));
  EXPECT_TRUE(test::eventually([&] {
    return is_blocked(other) ||
           second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }));
  open = true;
  gate.set_value();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get()) << "it did not wait for what the first one has taken";
}

}  // namespace
}  // namespace aqua
