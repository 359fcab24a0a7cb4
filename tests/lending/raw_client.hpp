// SPDX-License-Identifier: Apache-2.0
// A consumer that says exactly what a test tells it to, well-formed or not.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/socket/unix_socket.hpp"
#include "lending/exchange_wire.hpp"

namespace aqua::lending {

class RawClient {
 public:
  explicit RawClient(const std::string& path) : fd_(connect_seqpacket(path).value()) {}

  void send(std::span<const std::byte> bytes) {
    ASSERT_TRUE(send_message(fd_.get(), bytes, {}, std::chrono::seconds(10)).ok());
  }
  // The answer's bytes; none once the exporter has closed.
  [[nodiscard]] Message receive() {
    auto message = receive_message(fd_.get(), kMaxExchangeBytes, std::chrono::seconds(10));
    EXPECT_TRUE(message.ok()) << message.error().message;
    return message.ok() ? std::move(message).value() : Message{};
  }
  // The code of the answer's first entry; 0 for success.
  [[nodiscard]] std::uint32_t ask(const ExchangeMessage& request) {
    send(encode(request));
    const auto reply = decode(receive().bytes);
    EXPECT_TRUE(reply.ok());
    return reply.ok() ? std::get<Reply>(*reply).entries.front().code : UINT32_MAX;
  }
  [[nodiscard]] bool closed_by_exporter() { return receive().bytes.empty(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace aqua::lending
