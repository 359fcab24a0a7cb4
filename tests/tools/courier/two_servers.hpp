// SPDX-License-Identifier: Apache-2.0
// Two servers on this machine: a keeper and a courier each. What prefill gives on `a` is carried
// to decode on `b`. Needs AQUA_KEEPER_PROGRAM, AQUA_COURIER_PEER and AQUA_PEER_PROGRAM.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "tests/base/eventually.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/keeper/peer_program.hpp"
#include "tests/tls/certificate.hpp"

namespace aqua::test {

class TwoServers {
 public:
  using Process = std::unique_ptr<PeerProgram>;

  // Couriers of this patience, in seconds, with this carrier.
  explicit TwoServers(int patience = 20, std::string carrier = "tls")
      : patience_(patience), carrier_(std::move(carrier)) {
    for (const std::string name : {"a", "b"}) {
      authority_.issue(name + ".test", path(name + ".pem"), path(name + ".key"));
    }
    write_b("0");
    start_b();
    write_b(port_);
    write_a("b.test");
    start_a();
  }

  // Each server's courier, and another one after a kill.
  void start_a() {
    a_courier_ = courier("a");
    a_port_ = a_courier_->ask("start");
  }
  void start_b() {
    b_courier_ = courier("b");
    port_ = b_courier_->ask("start");
  }
  [[nodiscard]] const Process& courier_of_a() const { return a_courier_; }
  [[nodiscard]] const Process& courier_of_b() const { return b_courier_; }
  // That bytes go over the carrier which was asked for, once the couriers have connected.
  void expect_carrier() const {
    EXPECT_TRUE(eventually([&] { return a_courier_->ask("up") == "1"; }));
    EXPECT_EQ(a_courier_->ask("over-ucx"), carrier_ == "ucx" ? "1" : "0");
  }
  void kill_a() { a_courier_.reset(); }
  void kill_b() { b_courier_.reset(); }

  [[nodiscard]] Process prefill() const {
    auto member = std::make_unique<PeerProgram>(a_.socket(), AQUA_PEER_PROGRAM);
    EXPECT_EQ(member->ask("attach prefill 0"), "ok");
    return member;
  }
  [[nodiscard]] Process decode(int room = 4) const {
    auto member = std::make_unique<PeerProgram>(b_.socket(), AQUA_PEER_PROGRAM);
    EXPECT_EQ(member->ask("attach decode " + std::to_string(room)), "ok");
    return member;
  }
  // On `a`, beside the courier.
  [[nodiscard]] Process decode_at_a(int room) const {
    auto member = std::make_unique<PeerProgram>(a_.socket());
    EXPECT_EQ(member->ask("attach decode " + std::to_string(room)), "ok");
    return member;
  }
  [[nodiscard]] KeeperProcess& keeper_of_a() { return a_; }
  [[nodiscard]] KeeperProcess& keeper_of_b() { return b_; }
  [[nodiscard]] const testing::Authority& authority() const { return authority_; }
  [[nodiscard]] std::string path(const std::string& name) const { return dir_ / name; }
  [[nodiscard]] const std::string& port() const { return port_; }

  // The courier of `a`, which takes the other one to be called so.
  void write_a(const std::string& peer) const {
    write("a", listen("0", "b.test") + ", " + carry(peer, port_), a_.socket());
  }
  // Has the courier of `a` give the keeper of `b` copies, and that of `b`, where `both`, the keeper
  // of `a`.
  void mirror(bool both = false) {
    kill_a();
    kill_b();
    const auto mirror_to = [](const std::string& peer, const std::string& port) {
      return R"(, "mirror": [{"peer": ")" + peer + R"(", "address": "127.0.0.1:)" + port + R"("}])";
    };
    write("b",
          listen(port_, "a.test", /*copies=*/true) + (both ? mirror_to("a.test", a_port_) : ""),
          b_.socket());
    start_b();
    write("a",
          listen(a_port_, "b.test", both) + ", " + carry("b.test", port_) +
              mirror_to("b.test", port_),
          a_.socket());
    start_a();
  }
  // Has the courier of `b` carry what is given there to `a`, too.
  void carry_back() {
    kill_b();
    write("b", listen(port_, "a.test") + ", " + carry("a.test", a_port_), b_.socket());
    start_b();
  }

 private:
  [[nodiscard]] Process courier(const std::string& name) const {
    return std::make_unique<PeerProgram>(path(name + ".json"), AQUA_COURIER_PEER);
  }
  void write_b(const std::string& port) const { write("b", listen(port, "a.test"), b_.socket()); }
  static std::string listen(const std::string& port, const std::string& peer, bool copies = false) {
    return R"("listen": {"address": "127.0.0.1:)" + port + R"(", "peers": [")" + peer + R"("])" +
           (copies ? R"(, "copies": true})" : "}");
  }
  static std::string carry(const std::string& peer, const std::string& port) {
    return R"("carry": [{"pool": "carried", "from": "prefill", "to": "decode", "peer": ")" + peer +
           R"(", "address": "127.0.0.1:)" + port + R"(", "parcels": 3}])";
  }
  void write(const std::string& name, const std::string& what, const std::string& keeper) const {
    std::ofstream(path(name + ".json"))
        << R"({"keeper": ")" << keeper << R"(", "certificate": ")" << name << R"(.pem", "key": ")"
        << name << R"(.key", "authority": "authority.pem", "patience": )" << patience_
        << R"(, "carrier": ")" << carrier_ << R"(", "trusted_network": )"
        << (carrier_ == "tls" ? "false" : "true") << ", " << what << "}";
  }

  const int patience_;
  const std::string carrier_;
  testing::TempDir dir_;
  const testing::Authority authority_{dir_ / "authority.pem"};
  mutable KeeperProcess a_, b_;
  std::string port_, a_port_;
  Process a_courier_, b_courier_;
};

}  // namespace aqua::test
