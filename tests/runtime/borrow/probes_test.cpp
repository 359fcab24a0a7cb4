// SPDX-License-Identifier: Apache-2.0
// A borrower looks once a second whether its lenders are there. One that has stopped, whose socket
// nobody reads any more, must not keep it from its coordinator.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <future>
#include <string_view>

#include "base/socket/unix_socket.hpp"
#include "device/memfd/device.hpp"
#include "runtime/borrow/borrower.hpp"
#include "runtime/host_tier.hpp"
#include "tests/runtime/runtime_fixture.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;

// The borrowing half of a runtime, whose clock the test moves on.
class MadeBorrower final : public southbound::Listener {
 public:
  MadeBorrower(const std::string& coordinator, std::size_t bytes) {
    southbound::Options options;
    options.coordinator = coordinator;
    options.info.id = id_;
    options.info.name = "borrower";
    options.info.device = device_->info().uuid;
    options.info.device_name = device_->info().name;
    options.info.consumer = true;
    borrower_ = std::make_unique<runtime::Borrower>(
        services_, runtime::Borrower::Parts{*importer_, *peer_, *table_, *migrator_, no_callbacks_},
        runtime::BorrowerOptions{bytes, host_->bytes()});
    client_ = southbound::Client::open(std::move(options), *this).value();
    services_.coordinator = client_.get();
    loop_.start([this](runtime::Clock::time_point now) {
      const auto skew = std::chrono::seconds(skew_s_);
      const auto next = borrower_->step(now + skew);
      ++steps_;
      return next - skew;
    });
  }
  ~MadeBorrower() override {
    loop_.stop();
    coordinator_calls_.stop();
    unmap_queue_.stop();
    borrower_->close();
    client_->close();
  }

  [[nodiscard]] std::size_t leased_bytes() const { return borrower_->leased_bytes(); }
  [[nodiscard]] int steps() const { return steps_; }
  void wait_seconds(int seconds) {
    skew_s_ += seconds;
    loop_.nudge();
  }
  runtime::SerialQueue& coordinator_calls() { return coordinator_calls_; }

  void on_connected(const southbound::Session&) override {
    loop_.post([this] { borrower_->on_connected(); });
  }
  void on_snapshot(const wire::Snapshot& snapshot) override {
    loop_.post([this, snapshot] { borrower_->on_snapshot(snapshot); });
  }
  void on_events(std::span<const ledger::Event> events) override {
    loop_.post([this, list = std::vector(events.begin(), events.end())] {
      for (const ledger::Event& event : list) borrower_->on_event(event);
    });
  }
  void on_disconnected(const Error&) override {}
  void on_unreachable(const Error&) override {}

 private:
  const ClientId id_ = random_id<ClientTag>();
  const Callbacks no_callbacks_;
  std::unique_ptr<device::Device> device_ = device::open_emulated({.ordinal = 1}).value();
  std::unique_ptr<runtime::HostTier> host_ = runtime::HostTier::open(64_MiB).value();
  std::unique_ptr<lending::Importer> importer_ =
      lending::Importer::open(*device_, id_, 64_MiB).value();
  std::unique_ptr<tensor::Space> peer_ =
      tensor::Space::create(Tier::peer, importer_->base(), importer_->arena_bytes()).value();
  std::unique_ptr<tensor::TensorTable> table_ = std::make_unique<tensor::TensorTable>(
      *device_, tensor::TableSpaces{&host_->space(), peer_.get(), nullptr}, [] {});
  std::unique_ptr<tensor::Migrator> migrator_ = tensor::Migrator::create(*device_).value();
  runtime::CallbackQueue callbacks_{/*in_tick=*/true};
  runtime::SerialQueue coordinator_calls_, unmap_queue_;
  runtime::ControlLoop loop_;
  runtime::Services services_{loop_,
                              coordinator_calls_,
                              unmap_queue_,
                              callbacks_,
                              nullptr,
                              [](LogLevel, const std::string&) {},
                              [](BudgetReason) {},
                              [](runtime::Clock::time_point) {}};
  std::unique_ptr<runtime::Borrower> borrower_;
  std::unique_ptr<southbound::Client> client_;
  std::atomic<int> skew_s_{0}, steps_{0};
};

// A listener in the place of another, which has room for so many whom nobody accepts.
class Substitute {
 public:
  Substitute(std::string path, int room) : path_(std::move(path)) {
    EXPECT_EQ(std::rename(path_.c_str(), aside().c_str()), 0);
    listener_ = listen_seqpacket(path_).value();
    EXPECT_EQ(::listen(listener_.get(), room), 0);
  }
  ~Substitute() { EXPECT_EQ(std::rename(aside().c_str(), path_.c_str()), 0); }
  Substitute(const Substitute&) = delete;
  Substitute& operator=(const Substitute&) = delete;

  void fill() const {
    while (connect_seqpacket(path_, std::chrono::milliseconds(1)).ok()) {
    }
  }
  // Those who wait now, who do not wait any more then.
  [[nodiscard]] int waiting() const {
    int count = 0;
    for (pollfd one{listener_.get(), POLLIN, 0}; ::poll(&one, 1, 0) == 1; ++count)
      EXPECT_TRUE(UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid());
    return count;
  }

 private:
  [[nodiscard]] std::string aside() const { return path_ + "-aside"; }

  const std::string path_;
  UniqueFd listener_;
};

class Probes : public test::RuntimeFixture {
 protected:
  Probes() {
    EXPECT_TRUE(lender_->lend(4_MiB).ok());
    await([&] { return borrower_.leased_bytes() == 4_MiB; });
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (entry.path().filename().string().starts_with("x-")) exchange_ = entry.path();
    }
  }
  // Breaks the connections of this process with the lender. Returns how many there were.
  [[nodiscard]] int break_connections() const {
    int broken = 0;
    for (int fd = 3; fd < 1024; ++fd) {
      sockaddr_un peer{};
      socklen_t length = sizeof peer;
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
      if (peer.sun_family == AF_UNIX && exchange_ == peer.sun_path)
        broken += ::shutdown(fd, SHUT_RDWR) == 0 ? 1 : 0;
    }
    return broken;
  }
  void pass_a_hundred_seconds() {
    for (int i = 0; i < 50; ++i) {
      const int before = borrower_.steps();
      borrower_.wait_seconds(2);
      await([&] { return borrower_.steps() > before; });
    }
  }
  // Whatever else it does on the way.
  void expect_reaches_its_coordinator() {
    borrower_.coordinator_calls().post([this] { asked_.set_value(); });
    EXPECT_EQ(asked_.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    EXPECT_EQ(borrower_.leased_bytes(), 4_MiB) << "a lender that has stopped is no dead one";
  }

  std::promise<void> asked_;
  std::optional<Runtime> lender_ = open({.device = "emu:0", .name = "lender"});
  MadeBorrower borrower_{"unix:" + directory_ + "/coordinator.sock", 4_MiB};
  std::string exchange_;
};

TEST_F(Probes, OfALenderThatHasStoppedDelayNoCall) {
  const Substitute full(exchange_, 1);
  full.fill();
  EXPECT_EQ(break_connections(), 1);
  pass_a_hundred_seconds();
  expect_reaches_its_coordinator();
}

TEST_F(Probes, OfALenderThatIsConnectedAreNotMade) {
  const Substitute other(exchange_, 100);
  pass_a_hundred_seconds();
  expect_reaches_its_coordinator();
  EXPECT_EQ(other.waiting(), 0);
}

TEST_F(Probes, AreMadeOneAfterTheOtherHoweverLongOneTakes) {
  const Substitute other(exchange_, 100);
  EXPECT_EQ(break_connections(), 1);
  std::promise<void> gate;
  borrower_.coordinator_calls().post([open = gate.get_future().share()] { open.wait(); });
  pass_a_hundred_seconds();
  gate.set_value();
  expect_reaches_its_coordinator();
  EXPECT_LE(other.waiting(), 2) << "one before the gate was there, and the one that it held up";
}

}  // namespace
}  // namespace aqua
