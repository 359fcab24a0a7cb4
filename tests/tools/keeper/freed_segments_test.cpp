// SPDX-License-Identifier: Apache-2.0
// Segments that have ended, while their memory is being freed. The keeper is this process's.
#include <gtest/gtest.h>
#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/wake_event.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/keeper/nothing_is_freed.hpp"
#include "tests/tools/keeper/keeper_disk_fixture.hpp"
#include "tools/keeper/keeper.hpp"

namespace aqua::keeper::test {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{2} << 20;

bool is_signalled(int event) {
  pollfd polled{event, POLLIN, 0};
  return ::poll(&polled, 1, 60'000) == 1;
}

TEST(FreedSegments, CountUntilTheyAreGoneAndWhoFoundNoRoomIsWokenThen) {
  const aqua::testing::TempDir directory;
  const std::string socket = directory / "keeper.sock";
  const auto keeper = Keeper::start({.socket = socket, .segment_bytes = 2 * kBytes}).value();
  Client client(socket);
  const auto joined = client.ask(segment_wire::Join{}).value();
  const int woken = joined.fds.at(0).get();
  const auto reserve = [&] { return client.ask(segment_wire::Reserve{kBytes}); };
  {
    const aqua::test::NothingIsFreed stands;
    for (int i = 0; i < 2; ++i) {  // half of what there is, as one process may have it
      const auto reserved = reserve();
      ASSERT_TRUE(reserved.ok()) << reserved.error().message;
      client.say(segment_wire::GiveUp{reserved->reply.name.number});
    }
    ASSERT_TRUE(stands.stand(1));
    const auto refused = reserve();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::resource_exhausted);
    EXPECT_NE(refused.error().message.find("being freed"), std::string::npos)
        << refused.error().message;
    EXPECT_TRUE(client.rows().empty()) << "who asks is answered meanwhile";
    clear_event(woken);
  }
  ASSERT_TRUE(is_signalled(woken));
  bool again = reserve().ok();  // the first of the two that went may have been told
  while (!again) {
    clear_event(woken);
    again = reserve().ok();
    ASSERT_TRUE(again || is_signalled(woken));
  }
}

}  // namespace
}  // namespace aqua::keeper::test
