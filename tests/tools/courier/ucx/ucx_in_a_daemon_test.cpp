// SPDX-License-Identifier: Apache-2.0
// What UCX must not do in a courier, and what happens where it cannot reach the other side.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <string>
#include <vector>

#include "tests/tools/courier/link_pair.hpp"
#include "tools/courier/ucx/ucx_worker.hpp"

namespace aqua::courier {
namespace {

class UcxInADaemon : public LinkPair {};
INSTANTIATE_TEST_SUITE_P(Over, UcxInADaemon, ::testing::Values("ucx"));

TEST_P(UcxInADaemon, CatchesNoSignals) {
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGHUP}) {
    struct sigaction now {};
    ASSERT_EQ(::sigaction(number, nullptr, &now), 0);
    Dl_info from{};
    const bool is_of_a_library =
        ::dladdr(reinterpret_cast<const void*>(now.sa_handler), &from) != 0;
    const std::string library = is_of_a_library ? from.dli_fname : "";
    EXPECT_EQ(library.find("libuc"), std::string::npos) << "signal " << number;
  }
}

// The other side's worker.
enum class Worker { has_ended, is_silent };

class UcxUnreached : public LinkPair {
 protected:
  void SetUp() override {}
  // What the side that connects says of the carrier.
  Result<std::string> settled_with(Worker state) {
    auto listens = std::async(std::launch::async, [&] {
      Link link = accept();
      EXPECT_TRUE(link.receive().ok());
      auto worker = UcxWorker::open(*load_ucx().value(), UcxKey{}).value();
      const std::string address = worker->address();
      if (state == Worker::has_ended) worker.reset();
      EXPECT_TRUE(link.say(Welcome{UcxPoint{{}, address}, ""}).ok());
      const auto settled = link.receive();
      const auto* const said =
          settled.ok() && settled->message ? std::get_if<Settled>(&*settled->message) : nullptr;
      EXPECT_TRUE(said != nullptr && !said->ucx && !said->why_not.empty());
    });
    Link link = connect();
    CarrierOffer offer(link, CarrierHistory(CarrierChoice::ucx));
    EXPECT_TRUE(link.say(Hello{.pool = "p", .from = "f", .to = "t", .ucx = offer.point()}).ok());
    const auto answer = link.receive().value();
    auto how = offer.settle(link, std::get<Welcome>(*answer.message));
    EXPECT_TRUE(link.is_over_tls());
    listens.get();
    return how;
  }
};
INSTANTIATE_TEST_SUITE_P(Over, UcxUnreached, ::testing::Values("ucx"));

TEST_P(UcxUnreached, FallsBackToTlsAndBothSidesKnowIt) {
  AQUA_SKIP_WITHOUT_UCX(GetParam());
  for (const Worker state : {Worker::has_ended, Worker::is_silent}) {
    const auto how = settled_with(state);
    ASSERT_TRUE(how.ok()) << how.error().message << ": within the time of the greeting";
    EXPECT_TRUE(how->starts_with(", bytes over TLS: courier: ")) << *how;
  }
}

}  // namespace
}  // namespace aqua::courier
