// SPDX-License-Identifier: Apache-2.0
// Members of a KV pool that ask the keeper for what is not theirs, and makers of pools of what is
// no memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "aqua/published_memory.hpp"
#include "base/memory/memfd.hpp"
#include "base/socket/unix_socket.hpp"
#include "keeper_client/pool_client.hpp"
#include "tests/base/code_of.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/kept_descriptors.hpp"

namespace aqua {
namespace {

constexpr std::uint64_t kBytes = 2 << 20;
constexpr int kSized = F_SEAL_SHRINK | F_SEAL_GROW;

UniqueFd slab(int seals, std::size_t bytes = kBytes) {
  UniqueFd fd = create_memfd("a-slab");
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

class HostileMembers : public ::testing::Test {
 protected:
  using Client = PoolClient;

  [[nodiscard]] Client connect() const { return Client::connect(keeper_.socket()).value(); }
  static pool_wire::JoinPool joining(const std::string& role = "decode") {
    return {.pool = "p", .role = role, .device = {}, .shape = "s", .blocks = 8, .bytes = kBytes};
  }
  // A member of the pool, which it makes.
  Client make() {
    Client client = connect();
    EXPECT_TRUE(client.call(joining())->reply.make);
    const UniqueFd memory = slab(kSized);
    const std::vector<int> fds{memory.get()};
    EXPECT_TRUE(client.call(pool_wire::AddSlabs{{kBytes}}, fds).ok());
    return client;
  }
  static std::string code_of(Client& client, const pool_wire::PoolRequest& request,
                             const std::vector<int>& fds = {}) {
    return aqua::code_of(client.call(request, fds));
  }
  [[nodiscard]] PoolStatus row() const { return list_pools(keeper_.socket()).value().at(0); }

  test::KeeperProcess keeper_;
};

TEST_F(HostileMembers, OnlyMemoryThatCannotShrinkMakesAPool) {
  Client client = connect();
  ASSERT_TRUE(client.call(joining())->reply.make);
  const auto add = [&](const UniqueFd& fd, std::uint64_t bytes = kBytes) {
    return code_of(client, pool_wire::AddSlabs{{bytes}}, {fd.get()});
  };
  EXPECT_EQ(add(slab(F_SEAL_SHRINK)), "invalid_argument");
  EXPECT_EQ(add(slab(F_SEAL_GROW)), "invalid_argument");
  EXPECT_EQ(add(slab(kSized, kBytes / 2)), "invalid_argument") << "smaller than said";
  EXPECT_EQ(add(slab(kSized, 2 * kBytes), 2 * kBytes), "invalid_argument") << "more than the pool";
  EXPECT_EQ(add(UniqueFd(::open("/", O_RDONLY | O_CLOEXEC))), "invalid_argument");
  EXPECT_EQ(code_of(client, pool_wire::AddSlabs{{kBytes}}), "invalid_argument") << "no descriptor";
  EXPECT_EQ(code_of(client, pool_wire::Grant{1}), "not_found") << "it is not made";
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  EXPECT_EQ(code_of(client, joining(), {event.get()}), "invalid_argument");
  EXPECT_EQ(add(slab(kSized)), "ok");
  EXPECT_EQ(add(slab(kSized)), "not_found") << "it is made";
  EXPECT_EQ(row().members, 1U);
}

TEST_F(HostileMembers, AreNoMembersOfWhatTheyHaveNotJoined) {
  Client member = make();
  Client stranger = connect();
  for (const pool_wire::PoolRequest& request : std::vector<pool_wire::PoolRequest>{
           pool_wire::FetchSlabs{0}, pool_wire::Grant{1}, pool_wire::GiveBack{{0}},
           pool_wire::Share{{0}}, pool_wire::Offer{"decode", {.id = "r"}}, pool_wire::Accept{1},
           pool_wire::Finish{1}, pool_wire::Leave{}}) {
    EXPECT_EQ(code_of(stranger, request), "not_found");
  }
  EXPECT_EQ(code_of(member, joining()), "already_exists") << "one pool for a connection";
  pool_wire::JoinPool other = joining();
  other.shape = "t";
  EXPECT_EQ(code_of(stranger, other), "failed_precondition");
  other = joining();
  other.device.bytes[0] = 1;
  EXPECT_EQ(code_of(stranger, other), "failed_precondition");
  other = joining("");
  EXPECT_EQ(code_of(stranger, other), "invalid_argument");
  EXPECT_EQ(row().members, 1U);
}

TEST_F(HostileMembers, GetNobodysBlocksAndParcels) {
  Client giver = make();
  Client taker = connect();
  ASSERT_EQ(code_of(taker, joining()), "ok");
  const Blocks own = giver.call(pool_wire::Grant{2})->reply.blocks;
  EXPECT_EQ(code_of(taker, pool_wire::GiveBack{own}), "invalid_argument");
  EXPECT_EQ(code_of(taker, pool_wire::Share{own}), "invalid_argument");
  EXPECT_EQ(code_of(taker, pool_wire::Offer{"decode", {.id = "r", .blocks = own}}),
            "invalid_argument");
  const auto offered =
      giver.call(pool_wire::Offer{"decode", {.id = "r", .turn = 1, .blocks = own}});
  ASSERT_TRUE(offered.ok());
  const std::uint64_t number = offered->reply.number;
  EXPECT_EQ(code_of(taker, pool_wire::Finish{number}), "not_found") << "not accepted";
  const auto accepted = taker.call(pool_wire::Accept{9});
  ASSERT_EQ(accepted->reply.parcels.size(), 1U);
  EXPECT_EQ(code_of(giver, pool_wire::Finish{number}), "not_found");
  EXPECT_TRUE(taker.call(pool_wire::Accept{9})->reply.parcels.empty()) << "twice";
  EXPECT_EQ(code_of(giver, pool_wire::Offer{"decode", {.id = "r", .turn = 1}}), "aborted");
  EXPECT_EQ(code_of(giver, pool_wire::Cancel{"p", "r"}), "failed_precondition") << "it is taken";
  EXPECT_EQ(row().owned, 2U);
}

// The largest turn that a packet says, and the highest that a parcel may have, beside another
// parcel: the one is refused, and the others arrive together.
TEST_F(HostileMembers, WithTheHighestTurnsTakeNoOtherParcelWithThem) {
  Client giver = make();
  Client taker = connect();
  ASSERT_EQ(code_of(taker, joining()), "ok");
  const auto offer = [&](const std::string& id, std::uint64_t turn) {
    return code_of(giver, pool_wire::Offer{"decode", {.id = id, .turn = turn}});
  };
  const auto open = [&](std::uint64_t turn) {
    return code_of(giver, pool_wire::Open{"decode", {"opened", turn}, false});
  };
  EXPECT_EQ(offer("a", 1'000'000'000'000'000), "invalid_argument");
  EXPECT_EQ(offer("a", kMostTurn + 1), "invalid_argument");
  EXPECT_EQ(open(1'000'000'000'000'000), "invalid_argument");
  EXPECT_EQ(offer("a", kMostTurn), "ok");
  EXPECT_EQ(offer("b", 1), "ok");
  const auto accepted = taker.call(pool_wire::Accept{9});
  ASSERT_TRUE(accepted.ok()) << accepted.error().message;
  ASSERT_EQ(accepted->reply.parcels.size(), 2U);
  EXPECT_EQ(accepted->reply.parcels[0].turn, kMostTurn + 1);
  EXPECT_EQ(accepted->reply.parcels[1].id, "b");
}

// This process lives on when its connections have closed.
TEST_F(HostileMembers, WhoHangsUpKeepsWhatItHasUntilItHasEnded) {
  std::optional<Client> member = make();
  ASSERT_EQ(member->call(pool_wire::Grant{3})->reply.blocks.size(), 3U);
  member.reset();
  EXPECT_EQ(row().orphaned, 3U);
  EXPECT_EQ(remove_pool("p", keeper_.socket()).error().code, Code::failed_precondition);
  Client other = connect();
  ASSERT_EQ(code_of(other, joining()), "ok");
  EXPECT_EQ(other.call(pool_wire::Grant{9})->reply.blocks.size(), 5U);
}

// The keeper takes it, since its size is fixed; it may be sealed against a member's writes later.
TEST_F(HostileMembers, AnHonestMemberMapsNoMemoryThatCanBeSealed) {
  Runtime gpu = open_small_gpu();
  Client maker = connect();
  pool_wire::JoinPool asked = joining();
  asked.pool = "small";
  asked.device = parse_id<DeviceTag>(PublishedMemory::device_of(gpu)).value();
  asked.shape =
      "layers=2 planes_per_layer=2 plane_block_bytes=512 tokens_per_block=4 format=stamps";
  asked.blocks = kPoolBlocks;
  asked.block_tokens = 4;
  ASSERT_TRUE(maker.call(asked)->reply.make);
  ASSERT_EQ(code_of(maker, pool_wire::AddSlabs{{kBytes}}, {slab(kSized).get()}), "ok");
  const auto attached = KvPool::attach(gpu, small_pool(keeper_.socket(), "decode"));
  ASSERT_FALSE(attached.ok());
  EXPECT_EQ(attached.error().code, Code::invalid_argument) << attached.error().message;
  EXPECT_EQ(row().members, 1U) << "it has left again";
}

TEST_F(HostileMembers, WhoJoinAndHangUpForEverTakeNothing) {
  Client member = make();
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  for (int i = 0; i < 500; ++i) {
    Client client = connect();
    ASSERT_EQ(code_of(client, joining()), "ok") << i;
  }
  EXPECT_EQ(row().members, 1U) << "they had nothing";
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
}

TEST_F(HostileMembers, AreBoundedInOneProcessAlsoWhenTheyHaveHungUp) {
  Client member = make();
  std::vector<Client> members;
  members.reserve(63);
  for (int i = 0; i < 63; ++i) {
    members.push_back(connect());
    ASSERT_EQ(code_of(members.back(), joining()), "ok") << i;
  }
  ASSERT_EQ(members[0].call(pool_wire::Grant{1})->reply.blocks.size(), 1U);
  members.erase(members.begin());  // hangs up with a block
  Client last = connect();
  EXPECT_EQ(code_of(last, joining()), "resource_exhausted");
  ASSERT_EQ(code_of(members.back(), pool_wire::Leave{}), "ok");
  EXPECT_EQ(code_of(last, joining()), "ok");
}

TEST_F(HostileMembers, AreWokenForParcelsAndForBlocksTheyLacked) {
  Client giver = make();
  Client taker = connect();
  const auto joined = taker.call(joining("taker"));
  ASSERT_EQ(joined->fds.size(), 1U);
  const auto woken = [&] {
    std::uint64_t count = 0;
    return ::read(joined->fds[0].get(), &count, sizeof count) == sizeof count;
  };
  EXPECT_FALSE(woken());
  const Blocks all = giver.call(pool_wire::Grant{9})->reply.blocks;
  ASSERT_EQ(code_of(giver, pool_wire::Offer{"taker", {.id = "r", .turn = 1, .blocks = {all[0]}}}),
            "ok");
  EXPECT_TRUE(woken());
  ASSERT_EQ(taker.call(pool_wire::Accept{1})->reply.parcels.size(), 1U);
  EXPECT_FALSE(woken());
  ASSERT_TRUE(taker.call(pool_wire::Grant{1})->reply.blocks.empty());
  EXPECT_FALSE(woken()) << "there are none yet";
  ASSERT_EQ(code_of(giver, pool_wire::GiveBack{{all[1]}}), "ok");
  EXPECT_TRUE(woken());
}

// A giver that was stopped for long is told in as many answers as it takes, and its packets are
// never longer than a member reads.
TEST_F(HostileMembers, AreToldOfMoreParcelsThanAPacketHolds) {
  constexpr std::size_t kMany = 3000;
  Client taker = make();
  Client giver = connect();
  const auto joined = giver.call(joining("giver"));
  for (std::size_t i = 0; i < kMany; ++i) {
    const std::string id = "r" + std::to_string(i);
    ASSERT_EQ(code_of(giver, pool_wire::Offer{"decode", {.id = id, .turn = 1}}), "ok");
    const auto accepted = taker.call(pool_wire::Accept{1});
    ASSERT_EQ(code_of(taker, pool_wire::Finish{accepted->reply.parcels.at(0).number}), "ok");
  }
  std::set<std::uint64_t> told;
  std::uint64_t woken = 0;
  while (::read(joined->fds[0].get(), &woken, sizeof woken) == sizeof woken) {
    const auto answer = giver.call(pool_wire::Accept{1});
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    for (const ParcelNews& news : answer->reply.told) told.insert(news.number);
  }
  EXPECT_EQ(told.size(), kMany);
}

TEST_F(HostileMembers, NamesOfPoolsThatAreLongAsJsonAreListedAllTheSame) {
  constexpr std::size_t kPools = 33;
  std::vector<Client> members;
  for (std::size_t i = 0; i < kPools; ++i) {
    members.push_back(connect());
    pool_wire::JoinPool asked = joining();
    asked.pool = std::string(pool_wire::kLongestName - 2, '"') + std::to_string(10 + i);
    asked.shape = std::string(pool_wire::kLongestShape, '"');
    ASSERT_TRUE(members.back().call(asked)->reply.make);
    const UniqueFd memory = slab(kSized);
    const std::vector<int> fds{memory.get()};
    ASSERT_TRUE(members.back().call(pool_wire::AddSlabs{{kBytes}}, fds).ok());
  }
  const auto rows = list_pools(keeper_.socket());
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ(rows->size(), kPools);
}

TEST_F(HostileMembers, RubbishIsAnsweredAndChangesNothing) {
  Client member = make();
  const UniqueFd raw = connect_seqpacket(keeper_.socket()).value();
  for (const std::string packet :
       {R"({"op":"pool-"})", R"({"op":"pool-join","pool":"p"})", R"({"op":"pool-grant","most":-1})",
        R"({"op":"pool-offer","blocks":[0,4294967295]})"}) {
    ASSERT_TRUE(
        send_message(raw.get(), std::as_bytes(std::span(packet)), {}, std::chrono::seconds(5))
            .ok());
    const auto answer =
        receive_message(raw.get(), keeper_wire::kMaxPacket, std::chrono::seconds(5));
    ASSERT_TRUE(answer.ok());
    const std::string text(reinterpret_cast<const char*>(answer->bytes.data()),
                           answer->bytes.size());
    EXPECT_EQ(pool_wire::decode_pool_reply(text).error().code, Code::invalid_argument) << packet;
  }
  EXPECT_EQ(row().free, 8U);
}

}  // namespace
}  // namespace aqua
