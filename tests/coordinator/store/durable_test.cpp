// SPDX-License-Identifier: Apache-2.0
// What a daemon's death, and its disk's troubles, leave behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/concat.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/observe/exposition.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"
#include "wire/observation.hpp"
#include "wire/slabs.hpp"
#include "wire/state.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;

wire::State state_of(const DaemonProcess& daemon) {
  auto state = admin::fetch_state(daemon.address(), std::chrono::seconds(20));
  EXPECT_TRUE(state.ok()) << state.error().message;
  return state.ok() ? *std::move(state) : wire::State{};
}

int ready(const DaemonProcess& daemon) {
  return ask(daemon.address(), {"GET", "/readyz", {}, {}}).status;
}

southbound::HttpReply lease(const RawSession& session) {
  return session.call("POST", "/v1/leases", wire::encode(wire::LeaseRequest{kSlabBytes, 1U << 30}));
}

southbound::HttpReply offer(const RawSession& session, std::uint32_t count) {
  return session.call("POST", "/v1/offers", wire::encode(wire::OfferRequest{some_slabs(count)}));
}

// One lender with slabs, one borrower with a lease.
struct Lent {
  explicit Lent(const DaemonProcess& daemon)
      : lender(daemon.address(), daemon.lifeline()), borrower(daemon.address(), daemon.lifeline()) {
    EXPECT_EQ(lender.join(true).status, 200);
    EXPECT_EQ(borrower.join(false).status, 200);
    EXPECT_EQ(offer(lender, 3).status, 200);
    const auto reply = lease(borrower);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const auto grants = wire::decode<wire::LeaseReply>(reply.body, ledger::Time{0});
    EXPECT_TRUE(grants.ok());
    if (grants.ok() && !grants->grants.empty()) grant = grants->grants.front();
  }
  RawSession lender;
  RawSession borrower;
  ledger::Grant grant;
};

const ledger::Slab* row_of(const wire::State& state, const ledger::SlabId& id) {
  const auto row = std::ranges::find(state.slabs, id, &ledger::Slab::id);
  return row == state.slabs.end() ? nullptr : &*row;
}

TEST(Durable, LeasesOffersAndPairsSurviveTheDaemonBeforeAnybodyReturns) {
  DaemonProcess daemon;
  const Lent lent(daemon);
  daemon.kill();
  daemon.start();
  const wire::State state = state_of(daemon);
  EXPECT_EQ(state.slabs.size(), 3U);
  EXPECT_EQ(state.clients.size(), 2U);
  ASSERT_EQ(state.pairs.size(), 1U);
  EXPECT_EQ(state.pairs[0].consumer, lent.borrower.id);
  const ledger::Slab* row = row_of(state, lent.grant.slab);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->state, ledger::SlabState::suspect);
  EXPECT_EQ(row->holder, lent.borrower.id);
  EXPECT_EQ(row->generation, lent.grant.generation);
}

// A session of `former`'s client joins as what that was.
southbound::HttpReply rejoin(const RawSession& session, const RawSession& former, bool producer) {
  wire::JoinRequest request;
  request.info.id = session.id;
  request.info.device = former.device;
  request.info.server = session.lifeline.welcome.server;
  request.info.domain = "test";
  request.info.producer = producer;
  request.info.consumer = !producer;
  return session.call("POST", "/v1/clients", wire::encode(request));
}

// As the metrics tell it.
Exposition scrape(const DaemonProcess& daemon) {
  const auto reply = ask(daemon.address(), {"GET", "/metrics", {}, {}});
  EXPECT_EQ(reply.status, 200) << reply.body;
  return Exposition(reply.body);
}

TEST(Durable, TheAccountsGoOnWithWhatTheFormerLifeLeft) {
  DaemonProcess daemon;
  const Lent lent(daemon);
  daemon.kill();
  daemon.start();
  const auto restored = scrape(daemon);
  EXPECT_EQ(restored["aqua_slabs{state=\"offered\"}"], 2);
  EXPECT_EQ(restored["aqua_slabs{state=\"suspect\"}"], 1) << "its holder is not back";
  EXPECT_EQ(restored["aqua_slab_bytes{state=\"suspect\"}"], kSlabBytes);
  const RawSession back(daemon.address(), daemon.lifeline(), lent.borrower.id);
  EXPECT_EQ(rejoin(back, lent.borrower, false).status, 200);
  const auto rejoined = scrape(daemon);
  EXPECT_EQ(rejoined["aqua_slabs{state=\"suspect\"}"], 0);
  EXPECT_EQ(rejoined["aqua_slabs{state=\"leased\"}"], 1);
  EXPECT_EQ(rejoined["aqua_slab_bytes{state=\"leased\"}"], kSlabBytes);
  // What the exporter declares takes the place of what was written down.
  const RawSession exporter(daemon.address(), daemon.lifeline(), lent.lender.id);
  EXPECT_EQ(rejoin(exporter, lent.lender, true).status, 200);
  EXPECT_EQ(scrape(daemon)["aqua_slab_bytes{state=\"leased\"}"], 0);
  EXPECT_EQ(offer(exporter, 3).status, 200);
  EXPECT_EQ(scrape(daemon)["aqua_slabs{state=\"offered\"}"], 3);
  EXPECT_EQ(scrape(daemon)["aqua_slabs{state=\"leased\"}"], 0);
}

TEST(Durable, TheHolderFindsItsLeaseThoughItsExporterIsNotBack) {
  DaemonProcess daemon;
  const Lent lent(daemon);
  daemon.kill();
  daemon.start();
  const RawSession back(daemon.address(), daemon.lifeline(), lent.borrower.id);
  EXPECT_EQ(back.call("POST", "/v1/clients/self/renew").status, 404) << "it has to join first";
  const auto joined = rejoin(back, lent.borrower, false);
  ASSERT_EQ(joined.status, 200) << joined.body;
  EXPECT_EQ(row_of(state_of(daemon), lent.grant.slab)->state, ledger::SlabState::leased);
  EXPECT_EQ(code_of(lease(back)), Code::unavailable)
      << "nothing is granted of what is not declared";
  const wire::ReturnRequest request{{{lent.grant.slab, lent.grant.generation}}};
  EXPECT_EQ(back.call("POST", "/v1/leases/return", wire::encode(request)).status, 200);
  EXPECT_EQ(row_of(state_of(daemon), lent.grant.slab)->state, ledger::SlabState::quarantined);
}

TEST(Durable, ADrainGoesOnUntilAnOperatorEndsIt) {
  DaemonProcess daemon;
  const Lent lent(daemon);
  const wire::DrainRequest request{.client = lent.borrower.id, .within = ledger::Time{60'000}};
  ASSERT_EQ(ask(daemon.address(), {"POST", "/v1/drains", {}, wire::encode(request)}).status, 200);
  daemon.kill();
  daemon.start();
  const RawSession back(daemon.address(), daemon.lifeline(), lent.borrower.id);
  ASSERT_EQ(rejoin(back, lent.borrower, false).status, 200);
  EXPECT_EQ(scrape(daemon)["aqua_clients_draining"], 1);
  EXPECT_EQ(code_of(lease(back)), Code::failed_precondition);
  const std::string target = "/v1/drains/" + to_string(lent.borrower.id);
  ASSERT_EQ(ask(daemon.address(), {"DELETE", target, {}, {}}).status, 200);
  EXPECT_EQ(scrape(daemon)["aqua_clients_draining"], 0);
  EXPECT_NE(code_of(lease(back)), Code::failed_precondition);
}

TEST(Durable, InMemoryNothingSurvives) {
  DaemonProcess daemon({"--store", "memory"});
  const Lent lent(daemon);
  daemon.kill();
  daemon.start();
  EXPECT_TRUE(state_of(daemon).slabs.empty());
  EXPECT_FALSE(std::filesystem::exists(daemon.data() + "/ledger.db"));
}

TEST(Durable, ALeaseMayBeWrittenThroughToTheDisk) {
  DaemonProcess daemon({"--leases-survive", "host"});
  const Lent lent(daemon);
  EXPECT_EQ(row_of(state_of(daemon), lent.grant.slab)->state, ledger::SlabState::leased);
}

// A limit on the size of files is a full disk that needs no file system of its own.
TEST(Durable, OnAFullDiskNothingIsGrantedReturnsAreTakenAndItRecovers) {
  DaemonProcess daemon;
  const Lent lent(daemon);
  rlimit none{4096, RLIM_INFINITY};
  rlimit before{};
  ASSERT_EQ(::prlimit(daemon.process().pid(), RLIMIT_FSIZE, &none, &before), 0);
  const auto refused = lease(lent.borrower);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("cannot write its ledger"));
  EXPECT_EQ(ready(daemon), 503);
  EXPECT_EQ(ask(daemon.address(), {"GET", "/healthz", {}, {}}).status, 200);
  const wire::ReturnRequest request{{{lent.grant.slab, lent.grant.generation}}};
  EXPECT_EQ(lent.borrower.call("POST", "/v1/leases/return", wire::encode(request)).status, 200);
  ASSERT_EQ(::prlimit(daemon.process().pid(), RLIMIT_FSIZE, &before, nullptr), 0);
  EXPECT_EQ(lease(lent.borrower).status, 200);
  EXPECT_EQ(ready(daemon), 200);
  const wire::State told = state_of(daemon);
  daemon.kill();
  daemon.start();
  const wire::State written = state_of(daemon);
  ASSERT_EQ(written.slabs.size(), told.slabs.size());
  for (const ledger::Slab& row : told.slabs) {
    EXPECT_EQ(row_of(written, row.id)->generation, row.generation);
    EXPECT_EQ(row_of(written, row.id)->holder, row.holder);
  }
}

// A file system of a megabyte, full; and then read-only.
class SmallDisk {
 public:
  SmallDisk() {
    mounted_ = ::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=1m") == 0;
    ::chmod(dir_.path().c_str(), 0700);
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(dir_.path().c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::string data() const { return dir_ / "data"; }
  void fill() {
    std::ofstream file(dir_ / "ballast", std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), 4096).flush()) continue;
  }
  void empty() { std::filesystem::remove(dir_ / "ballast"); }
  bool make_read_only() {
    return ::mount(nullptr, dir_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  TempDir dir_;
  bool mounted_ = false;
};

TEST(Durable, OnADiskWithoutSpaceItGoesOnAndNothingWrittenIsLost) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a file system here";
  DaemonProcess daemon({"--data", disk.data()});
  const std::string lifeline = disk.data() + "/lifeline.sock";
  const RawSession lender(daemon.address(), lifeline);
  ASSERT_EQ(lender.join(true).status, 200);
  disk.fill();
  std::uint32_t offers = 0;  // until the log needs a page that is not there
  while (ready(daemon) == 200 && offers < 20'000) {
    auto slabs = some_slabs(100);
    for (auto& slab : slabs) slab.index = offers++;
    ASSERT_EQ(lender.call("POST", "/v1/offers", wire::encode(wire::OfferRequest{slabs})).status,
              200);
  }
  EXPECT_EQ(ready(daemon), 503);
  disk.empty();
  ASSERT_EQ(offer(lender, 1).status, 409) << "known already; but it makes the daemon write";
  EXPECT_EQ(ready(daemon), 200);
  daemon.kill();
  daemon.start();
  EXPECT_EQ(state_of(daemon).slabs.size(), offers);
  daemon.stop();
  ASSERT_TRUE(disk.make_read_only());
  ChildProcess refused({AQUA_COORDINATOR_PROGRAM, "--data", disk.data()});
  EXPECT_EQ(refused.wait(), 1);
}

TEST(Durable, ADamagedDatabaseIsAClearErrorAndIsLeftAlone) {
  DaemonProcess daemon;
  { const Lent lent(daemon); }
  EXPECT_EQ(daemon.stop(), 0);
  const std::string path = daemon.data() + "/ledger.db";
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(4096) << "garbage";
  const auto size = std::filesystem::file_size(path);
  ChildProcess refused({AQUA_COORDINATOR_PROGRAM, "--data", daemon.data()}, daemon.data() + "/err");
  EXPECT_EQ(refused.wait(), 1);
  std::ifstream file(daemon.data() + "/err");
  const std::string errors{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_THAT(errors, HasSubstr("damaged"));
  EXPECT_THAT(errors, HasSubstr("ledger.db"));
  EXPECT_EQ(std::filesystem::file_size(path), size);
  std::filesystem::rename(path, path + ".damaged");
  daemon.start();
  EXPECT_TRUE(state_of(daemon).slabs.empty());
}

// Wall clocks jump; nothing here may look at one.
TEST(Durable, AWallClockThatJumpsByYearsSuspectsNobodyAndMovesNoDeadline) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer wants to be loaded first";
#endif
  ::setenv("LD_PRELOAD", AQUA_JUMPING_CLOCK, 1);
  DaemonProcess daemon({"--client-ttl", "60000", "--lease-ttl", "60000"});
  ::unsetenv("LD_PRELOAD");
  const Lent lent(daemon);
  const auto reply =
      lent.lender.call("POST", "/v1/reclaims",
                       wire::encode(wire::ReclaimRequest{3 * kSlabBytes, ledger::Time{300}}));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] { return state_of(daemon).reclaims.at(0).done; }));
  const auto took = std::chrono::steady_clock::now() - asked;
  EXPECT_GE(took, std::chrono::milliseconds(250)) << "a deadline came early";
  for (const ledger::Client& client : state_of(daemon).clients)
    EXPECT_EQ(client.state, ledger::ClientState::live);
  daemon.kill();
  daemon.start();
  EXPECT_EQ(state_of(daemon).slabs.size(), 1U);
}

// A client that dies while no coordinator is there to see it.
TEST(Durable, WhoDiedMeanwhileIsDeadAtTheNextStart) {
  DaemonProcess daemon;
  const RawSession lender(daemon.address(), daemon.lifeline());
  ASSERT_EQ(lender.join(true).status, 200);
  ASSERT_EQ(offer(lender, 1).status, 200);
  ChildProcess mortal({AQUA_TEST_CLIENT_PROGRAM, "lease", daemon.address(),
                       to_string(random_id<ClientTag>()), std::to_string(kSlabBytes)});
  ASSERT_NE(mortal.read_line(), "") << "it holds a lease now";
  daemon.kill();
  mortal.signal(SIGKILL);
  mortal.wait();
  daemon.start();
  const wire::State state = state_of(daemon);
  ASSERT_EQ(state.clients.size(), 1U) << "known to be dead, by its pid and start time";
  EXPECT_EQ(state.clients[0].info.id, lender.id);
  ASSERT_EQ(state.slabs.size(), 1U);
  EXPECT_EQ(state.slabs[0].state, ledger::SlabState::quarantined);
}

}  // namespace
}  // namespace aqua::testing
