// SPDX-License-Identifier: Apache-2.0
// What every carrier of bytes between two couriers has to do, and how they agree on one.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/tools/courier/link_pair.hpp"
#include "tools/courier/carry/await_news.hpp"

namespace aqua::courier {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(size / sizeof(std::uint64_t) + 1);
  for (std::uint64_t& word : words) word = random();
  const auto bytes = std::as_bytes(std::span(words)).first(size);
  return {bytes.begin(), bytes.end()};
}

// All that one send() of the other side has sent.
Result<Bytes> read_all(Link& link, std::size_t size) {
  Bytes all(size);
  for (std::size_t got = 0; got < size;) {
    const auto frame = link.receive();
    if (!frame.ok()) return frame.error();
    if (frame->message || frame->length > size - got) {
      return Error{Code::internal, "not the bytes that were sent"};
    }
    if (const auto read = link.read(std::span(all).subspan(got, frame->length)); !read.ok()) {
      return read.error();
    }
    got += frame->length;
  }
  return all;
}

class EachCarrier : public LinkPair {};
INSTANTIATE_TEST_SUITE_P(Carriers, EachCarrier, ::testing::Values("tls", "ucx"),
                         [](const auto& carrier) { return carrier.param; });

TEST_P(EachCarrier, BringsAllBytesInTheirOrderBothWays) {
  const std::vector<std::size_t> sizes{1,         100, 8192, 8193, kMostBytes, kMostCarried + 1,
                                       20'000'000};
  const auto send_all = [&](Link& link, unsigned seed) -> Result<void> {
    for (const std::size_t size : sizes) {
      if (const auto sent = link.send(random_bytes(size, seed++)); !sent.ok()) return sent;
      if (const auto said = link.say(Go{size}); !said.ok()) return said;
    }
    return {};
  };
  const auto read_and_compare = [&](Link& link, unsigned seed) {
    for (const std::size_t size : sizes) {
      const auto read = read_all(link, size);
      ASSERT_TRUE(read.ok()) << read.error().message;
      ASSERT_TRUE(*read == random_bytes(size, seed++)) << size << " bytes";
      const auto said = link.receive();
      ASSERT_TRUE(said.ok() && said->message) << "a message between them keeps its place";
      EXPECT_EQ(std::get<Go>(*said->message).number, size);
    }
  };
  auto sent = std::async(std::launch::async, [&] { return send_all(*here_, 1); });
  read_and_compare(*there_, 1);
  ASSERT_TRUE(sent.get().ok());
  sent = std::async(std::launch::async, [&] { return send_all(*there_, 2); });
  read_and_compare(*here_, 2);
  ASSERT_TRUE(sent.get().ok());
}

TEST_P(EachCarrier, EndsASendThatNobodyReadsAfterThePatience) {
  here_->greeted(1s);
  const int never = 0;  // so that it is not the kernel's patience
  ASSERT_EQ(::setsockopt(here_->descriptor(), IPPROTO_TCP, TCP_USER_TIMEOUT, &never, sizeof never),
            0);
  const auto begin = std::chrono::steady_clock::now();
  const auto sent = here_->send(Bytes(std::size_t{64} << 20));
  ASSERT_FALSE(sent.ok()) << "beyond what the sockets hold";
  EXPECT_EQ(sent.error().code, Code::unavailable) << sent.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
}

TEST_P(EachCarrier, EndsAReadOfBytesThatDoNotComeAfterThePatience) {
  there_->greeted(1s);
  Bytes into(100);
  const auto begin = std::chrono::steady_clock::now();
  const auto read = there_->read(into);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::unavailable) << read.error().message;
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 900ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
}

TEST_P(EachCarrier, IsStoppedWhileItSends) {
  auto sent =
      std::async(std::launch::async, [&] { return here_->send(Bytes(std::size_t{64} << 20)); });
  ASSERT_TRUE(there_->receive().ok());  // it has begun
  signal_event(stop_here_.get());
  EXPECT_EQ(sent.get().error().code, Code::cancelled);
}

TEST_P(EachCarrier, IsStoppedWhileItReads) {
  Bytes into(100);
  auto read = std::async(std::launch::async, [&] { return there_->read(into); });
  signal_event(stop_there_.get());
  EXPECT_EQ(read.get().error().code, Code::cancelled);
}

TEST_P(EachCarrier, EndsWithTheOtherSideMidwayAndIsOfNoUseThen) {
  auto sent =
      std::async(std::launch::async, [&] { return here_->send(Bytes(std::size_t{64} << 20)); });
  ASSERT_TRUE(there_->receive().ok());
  const auto begin = std::chrono::steady_clock::now();
  there_.reset();
  EXPECT_EQ(sent.get().error().code, Code::unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s) << "long before the patience is over";
  EXPECT_FALSE(here_->send(Bytes(100)).ok());
}

TEST_P(EachCarrier, LetsAReaderGoWhenTheSenderHasEnded) {
  Bytes into(100);
  const auto begin = std::chrono::steady_clock::now();
  auto read = std::async(std::launch::async, [&] { return there_->read(into); });
  here_.reset();
  EXPECT_EQ(read.get().error().code, Code::unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s) << "long before the patience is over";
}

TEST_P(EachCarrier, IsWaitedForTogetherWithMessages) {
  auto said = std::async(std::launch::async, [&] {
    EXPECT_TRUE(here_->send(random_bytes(1'000'000, 3)).ok());
    EXPECT_TRUE(here_->say(Go{7}).ok());
  });
  const auto end = std::chrono::steady_clock::now() + 60s;
  News news = await_news(*there_, {}, stop_there_.get(), end).value();
  ASSERT_TRUE(news.frame && news.frame->length == 1'000'000);
  Bytes into(1'000'000);
  ASSERT_TRUE(there_->read(into).ok());
  EXPECT_TRUE(into == random_bytes(1'000'000, 3));
  said.get();
  news = await_news(*there_, {}, stop_there_.get(), end).value();
  ASSERT_TRUE(news.frame && news.frame->message);
  // Nothing more comes.
  const auto soon = std::chrono::steady_clock::now() + 10ms;
  EXPECT_TRUE(await_news(*there_, {}, stop_there_.get(), soon).value().late);
  signal_event(stop_there_.get());
  EXPECT_EQ(await_news(*there_, {}, stop_there_.get()).error().code, Code::cancelled);
}

TEST_P(EachCarrier, IsAvoidedForAWhileWhereItHasCarriedNothing) {
  CarrierHistory history(CarrierChoice::ucx);
  history.lost(*here_);
  EXPECT_FALSE(history.avoids_ucx()) << "it was given nothing";
  auto sent = std::async(std::launch::async, [&] { return here_->send(random_bytes(1000, 5)); });
  ASSERT_TRUE(read_all(*there_, 1000).ok());
  ASSERT_TRUE(sent.get().ok());
  history.lost(*here_);
  EXPECT_FALSE(history.avoids_ucx()) << "it has got something through";

  connect(carrier_named(GetParam()), carrier_named(GetParam()));
  signal_event(stop_here_.get());
  EXPECT_FALSE(here_->send(Bytes(std::size_t{64} << 20)).ok());
  history.lost(*here_);
  EXPECT_EQ(history.avoids_ucx(), GetParam() == "ucx");
  if (GetParam() == "tls") return;
  const CarrierOffer offer(*there_, history);
  EXPECT_FALSE(offer.point()) << "the next connection offers none";
}

class Agreement : public LinkPair {
 protected:
  void SetUp() override {}
};
INSTANTIATE_TEST_SUITE_P(OnACarrier, Agreement, ::testing::Values("tls"));

TEST_P(Agreement, IsTlsWhereTheOtherSideDoesNotAllowUcxAndSaysSo) {
  AQUA_SKIP_WITHOUT_UCX("ucx");
  connect(CarrierChoice::ucx, CarrierChoice::tls);
  EXPECT_TRUE(here_->is_over_tls() && there_->is_over_tls());
  EXPECT_EQ(how_here_, ", bytes over TLS: the other side: it does not allow UCX");
  EXPECT_EQ(how_there_, "");
}

TEST_P(Agreement, IsTlsWhereTheOneWhoConnectsDoesNotOfferUcx) {
  connect(CarrierChoice::tls, CarrierChoice::ucx);
  EXPECT_TRUE(here_->is_over_tls() && there_->is_over_tls());
  EXPECT_EQ(how_here_, "");
  EXPECT_EQ(how_there_, ", bytes over TLS: the other side does not offer UCX");
}

// A build without UCX, and a machine without RDMA, are both told of.
TEST_P(Agreement, IsTlsWhereUcxCannotBeHad) {
  const bool is_built = AQUA_COURIER_UCX;
  connect(is_built ? CarrierChoice::automatic : CarrierChoice::ucx, CarrierChoice::ucx);
  if (!here_->is_over_tls()) GTEST_SKIP() << "there is an RDMA device here";
  EXPECT_NE(how_here_.find(is_built ? "no RDMA device" : "built without UCX"), std::string::npos)
      << how_here_;
  auto sent = std::async(std::launch::async, [&] { return here_->send(random_bytes(1000, 4)); });
  EXPECT_TRUE(read_all(*there_, 1000).value() == random_bytes(1000, 4));
  EXPECT_TRUE(sent.get().ok());
}

}  // namespace
}  // namespace aqua::courier
