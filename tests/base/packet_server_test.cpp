// SPDX-License-Identifier: Apache-2.0
// Descriptors that a handler of packets watches, and that its packets close.
#include "base/socket/packet_server.hpp"

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <memory>
#include <string>

#include "base/wake_event.hpp"
#include "tests/coordinator/temp_dir.hpp"

namespace aqua {
namespace {

// The first packet is held up in the handler. The second one closes what is watched, whose number
// is an unreadable descriptor's then.
class Watching : public ::testing::Test, private PacketHandler {
 protected:
  UniqueFd connect() const { return connect_seqpacket(path_).value(); }
  static void send(const UniqueFd& to, char what) {
    const std::array bytes{std::byte(what)};
    ASSERT_TRUE(send_message(to.get(), bytes, {}, std::chrono::seconds(60)).ok());
  }
  static void await_answer(const UniqueFd& from) {
    EXPECT_TRUE(receive_message(from.get(), 16, std::chrono::seconds(60)).ok());
  }

  std::promise<void> held_, go_on_;
  UniqueFd watched_ = make_wake_event().value();
  int heard_ = 0;
  testing::TempDir dir_;
  const std::string path_ = dir_ / "socket";
  std::unique_ptr<PacketServer> server_ = PacketServer::open(path_, *this, {}).value();

 private:
  std::optional<Answer> on_packet(const PacketPeer& /*from*/, Message packet) override {
    const char what = static_cast<char>(packet.bytes.front());
    if (what == 'h') {
      held_.set_value();
      go_on_.get_future().wait();
    }
    if (what == 'c') {
      const UniqueFd other = make_wake_event().value();
      EXPECT_EQ(::dup2(other.get(), watched_.get()), watched_.get());
    }
    return Answer{.bytes = packet.bytes};
  }
  void on_closed(std::uint64_t /*number*/) override {}
  bool dispensable(std::uint64_t /*number*/) const override { return true; }
  std::vector<int> watched() const override { return {watched_.get()}; }
  void on_readable(PacketServer& /*server*/, int fd) override {
    ++heard_;
    clear_event(fd);
  }
};

TEST_F(Watching, WhatIsReadableIsHeardBehindThePacketsThatCameBefore) {
  const UniqueFd one = connect(), two = connect();
  send(one, 'h');
  held_.get_future().wait();
  signal_event(watched_.get());
  send(two, 'p');
  go_on_.set_value();
  await_answer(two);
  send(two, 'p');
  await_answer(two);
  server_.reset();
  EXPECT_EQ(heard_, 1);
}

TEST_F(Watching, WhatAPacketHasClosedIsNotHeardByAnothersNumber) {
  const UniqueFd one = connect(), two = connect();
  send(one, 'h');
  held_.get_future().wait();
  signal_event(watched_.get());
  send(two, 'c');
  go_on_.set_value();
  await_answer(two);
  send(two, 'p');
  await_answer(two);
  server_.reset();
  EXPECT_EQ(heard_, 0);
}

}  // namespace
}  // namespace aqua
