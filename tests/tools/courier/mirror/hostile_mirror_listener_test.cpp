// SPDX-License-Identifier: Apache-2.0
// One with a peer's certificate takes copies as it should not: that is named, and the copy is made
// over the next connection. How far one is can be seen while it is on its way.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/base/eventually.hpp"
#include "tests/tools/courier/hostile_listener.hpp"
#include "tests/tools/courier/mirror/mirrored.hpp"

namespace aqua::courier {
namespace {

using test::eventually;

struct MirrorMisdeed {
  const char* name;
  const char* words;  // that are said of it
  std::function<void(Link&, const Copy&)> commit;
};
void PrintTo(const MirrorMisdeed& misdeed, std::ostream* out) {
  *out << misdeed.name;
}

class HostileMirrorListener : public test::Mirrored {
 protected:
  HostileMirrorListener() { servers_.mirror(); }
  // The mirror's connection. The route of parcels connects as well, and stays.
  [[nodiscard]] Link mirror_of(HostileListener& hostile) {
    for (;;) {
      Link link = hostile.accept();
      link.greeted(std::chrono::seconds(60));
      if (std::holds_alternative<MirrorHello>(hostile.hello())) return link;
      others_.push_back(std::move(link));
    }
  }
  // The same, once a copy of what is kept is offered over it.
  struct Offered {
    Link link;
    Copy copy;
  };
  [[nodiscard]] Offered offered(HostileListener& hostile) {
    Link link = mirror_of(hostile);
    EXPECT_TRUE(link.say(Held{}).ok());
    const Message said = HostileListener::heard(link);
    return {std::move(link), std::get<Copy>(said)};
  }

  std::vector<Link> others_;
};
class MisdeedOfAMirror : public HostileMirrorListener,
                         public ::testing::WithParamInterface<MirrorMisdeed> {};
INSTANTIATE_TEST_SUITE_P(
    Each, MisdeedOfAMirror,
    ::testing::Values(
        MirrorMisdeed{"GoTwice", "no answer to a copy",
                      [](Link& link, const Copy& copy) {
                        EXPECT_TRUE(link.say(Go{copy.number}).ok());
                        HostileListener::read(link, copy.bytes);
                        EXPECT_TRUE(link.say(Go{copy.number}).ok());
                      }},
        MirrorMisdeed{
            "ARefusalOfWhatWasNotOffered", "no answer to a copy",
            [](Link& link, const Copy& copy) {
              EXPECT_TRUE(link.say(Refused{copy.number + 1, {Code::internal, "no"}}).ok());
            }},
        MirrorMisdeed{"HeldAgain", "no answer to a copy",
                      [](Link& link, const Copy& copy) {
                        EXPECT_TRUE(link.say(Held{{copy.original}}).ok());
                      }},
        MirrorMisdeed{"AHugeNumber", "number",
                      [](Link& link, const Copy&) {
                        EXPECT_TRUE(link.say(Landed{std::uint64_t{1} << 63}).ok());
                      }},
        MirrorMisdeed{"Bytes", "bytes from who is to receive them",
                      [](Link& link, const Copy&) {
                        EXPECT_TRUE(link.send(std::vector<std::byte>(100)).ok());
                      }}),
    [](const auto& misdeed) { return misdeed.param.name; });

TEST_P(MisdeedOfAMirror, IsNamedAndTheCopyIsMade) {
  const SegmentName kept = client_of(servers_.keeper_of_a())->commit(1, 3'000'000);
  HostileListener hostile(servers_);
  {
    Offered one = offered(hostile);
    GetParam().commit(one.link, one.copy);
    EXPECT_TRUE(hostile.is_said(GetParam().words));
  }
  hostile.make_way();
  EXPECT_TRUE(eventually([&] { return is_copied(kept, 1); }));
}

// The sockets hold some of it, which is sent; it has not landed.
TEST_F(HostileMirrorListener, HowFarACopyIsCanBeSeen) {
  constexpr std::uint64_t kBytes = std::uint64_t{48} << 20, kHalf = kBytes / 2;
  client_of(servers_.keeper_of_a())->commit(1, kBytes);
  HostileListener hostile(servers_);
  Offered one = offered(hostile);
  ASSERT_TRUE(one.link.say(Go{one.copy.number}).ok());
  HostileListener::read(one.link, kHalf);
  EXPECT_TRUE(eventually([&] { return hostile.counters().mirrored_bytes >= kHalf; }));
  EXPECT_LT(hostile.counters().mirrored_bytes, kBytes);
  EXPECT_EQ(hostile.counters().mirrored, 0U);
}

TEST_F(HostileMirrorListener, OneThatHasMoreThanAnyKeeperKeepsIsSentAway) {
  client_of(servers_.keeper_of_a())->commit(1, 100);
  HostileListener hostile(servers_);
  const Held some{std::vector<Original>(kMostHeld)};
  Link link = mirror_of(hostile);
  for (std::size_t i = 0; i <= (std::size_t{1} << 16) / kMostHeld; ++i) {
    if (!link.say(some).ok()) break;  // it has hung up
  }
  EXPECT_FALSE(link.receive().ok());
  EXPECT_TRUE(hostile.is_said("the other side does not say what it has"));
}

}  // namespace
}  // namespace aqua::courier
