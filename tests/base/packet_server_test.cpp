// SPDX-License-Identifier: Apache-2.0
// Descriptors that a handler of packets watches, and that its packets close.
#include "base/socket/packet_server.hpp"

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <memory>
#include <string>

#include "base/wake_event.hpp"
#include "tests/base/temp_dir.hpp"

namespace aqua {
namespace {

// Holds up a packet 'h'. By a packet 'c' it closes what it watches, whose number is an unreadable
// descriptor's then.
class Handler final : public PacketHandler {
 public:
  std::promise<void> held, go_on;
  const UniqueFd event = make_wake_event().value();
  int heard = 0;  // the server's thread's

 private:
  std::optional<Answer> on_packet(const PacketPeer& /*from*/, Message packet) override {
    const char what = static_cast<char>(packet.bytes.front());
    if (what == 'h') {
      held.set_value();
      go_on.get_future().wait();
    }
    if (what == 'c') {
      const UniqueFd other = make_wake_event().value();
      EXPECT_EQ(::dup2(other.get(), event.get()), event.get());
    }
    return Answer{.bytes = packet.bytes};
  }
  void on_closed(std::uint64_t /*number*/) override {}
  bool dispensable(std::uint64_t /*number*/) const override { return true; }
  std::vector<int> watched() const override { return {event.get()}; }
  void on_readable(PacketServer& /*server*/, int fd) override {
    ++heard;
    clear_event(fd);
  }
};

class Watching : public ::testing::Test {
 protected:
  UniqueFd connect() const { return connect_seqpacket(path_).value(); }
  static void send(const UniqueFd& to, char what) {
    const std::array bytes{std::byte(what)};
    ASSERT_TRUE(send_message(to.get(), bytes, {}, std::chrono::seconds(60)).ok());
  }
  static void await_answer(const UniqueFd& from) {
    EXPECT_TRUE(receive_message(from.get(), 16, std::chrono::seconds(60)).ok());
  }
  // How often it was heard of an event that comes in one turn with this packet.
  int heard_beside(char packet) {
    const UniqueFd one = connect(), two = connect();
    send(one, 'h');
    handler_.held.get_future().wait();
    signal_event(handler_.event.get());
    send(two, packet);
    handler_.go_on.set_value();
    await_answer(two);
    send(two, 'p');
    await_answer(two);
    server_.reset();
    return handler_.heard;
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "socket";
  Handler handler_;
  std::unique_ptr<PacketServer> server_ = PacketServer::open(path_, handler_, {}).value();
};

TEST_F(Watching, WhatIsReadableIsHeardBehindThePacketsThatCameBefore) {
  EXPECT_EQ(heard_beside('p'), 1);
}

TEST_F(Watching, WhatAPacketHasClosedIsNotHeardByAnothersNumber) {
  EXPECT_EQ(heard_beside('c'), 0);
}

}  // namespace
}  // namespace aqua
