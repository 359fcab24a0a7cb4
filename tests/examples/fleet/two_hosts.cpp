// SPDX-License-Identifier: Apache-2.0
#include "tests/examples/fleet/two_hosts.hpp"

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "aqua/handoff/segments.hpp"
#include "tests/loopback_socket.hpp"

namespace aqua::fleet::test {
namespace {

using aqua::testing::ChildProcess;
using router::test::becomes;

std::string certificate_of(std::size_t host) {
  return "h" + std::to_string(host) + ".test";
}

bool tells_of_a_route(const std::string& line) {
  return line.find("connected to") != line.npos;
}

}  // namespace

TwoHosts::TwoHosts(const std::function<Line(std::size_t)>& of_engines) {
  ChildProcess certificates({"/bin/sh", AQUA_COURIER_CERTIFICATES, directory_.path(),
                             certificate_of(0), certificate_of(1)});
  EXPECT_EQ(certificates.wait(), 0);
  for (int& port : ports_) port = aqua::testing::LoopbackSocket().port;
  std::array<std::size_t, 2> connected{};
  for (const std::size_t host : {0U, 1U}) connected.at(host) = start_courier(host);
  for (const std::size_t host : {0U, 1U}) {  // until both have all their routes
    for (std::size_t routes = connected.at(host); routes < kEngines;) {
      const std::string line = couriers_.at(host)->read_line();
      if (tells_of_a_route(line)) ++routes;
      if (!line.empty()) continue;
      ADD_FAILURE() << "a courier has not connected";
      break;
    }
  }
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < kEngines; ++i) {
    more_.push_back(of_engines ? of_engines(i) : Line{"--iteration-ms", "10"});
    engines_.emplace_back(std::in_place, line_of(i));
    urls.push_back(engines_.back()->url());
  }
  router.emplace(urls, Line{"--hold", "20000"});
}

TwoHosts::Line TwoHosts::line_of(std::size_t engine) const {
  const std::size_t host = host_of(engine);
  Line line{AQUA_FLEET_ENGINE_PROGRAM,  "--name",    name_of(engine), "--keeper",
            keepers_.at(host).socket(), "--carrier", "segments",      "--server",
            certificate_of(host)};
  for (std::size_t other = 1 - host; other < kEngines; other += 2)
    line.insert(line.end(), {"--reaches", name_of(other)});
  line.insert(line.end(), more_.at(engine).begin(), more_.at(engine).end());
  return line;
}

std::string TwoHosts::config_of(std::size_t host) const {
  const std::string name = certificate_of(host), peer = certificate_of(1 - host);
  const auto at = [&](std::size_t of) { return "127.0.0.1:" + std::to_string(ports_.at(of)); };
  Json carry = Json::array();
  for (std::size_t from = host; from < kEngines; from += 2) {
    for (std::size_t to = 1 - host; to < kEngines; to += 2) {
      carry.push_back({{"pool", "fleet"},
                       {"from", name_of(from)},
                       {"to", name_of(to)},
                       {"peer", peer},
                       {"address", at(1 - host)},
                       {"parcels", 16}});
    }
  }
  return Json{{"keeper", keepers_.at(host).socket()},
              {"certificate", name + ".pem"},
              {"key", name + ".key"},
              {"authority", "authority.pem"},
              {"patience", 5},
              {"listen", {{"address", at(host)}, {"peers", {peer}}}},
              {"carry", std::move(carry)}}
      .dump();
}

std::size_t TwoHosts::start_courier(std::size_t host) {
  const std::string config = directory_ / (certificate_of(host) + ".json");
  std::ofstream(config) << config_of(host);
  couriers_.at(host).emplace(Line{AQUA_COURIER_PROGRAM, "--config", config},
                             directory_ / (certificate_of(host) + ".log"));
  std::size_t routes = 0;
  for (;;) {  // its routes may be connected before it says that it listens
    const std::string line = couriers_.at(host)->read_line();
    if (tells_of_a_route(line)) ++routes;
    if (!line.empty() && line.find("listening on") == line.npos) continue;
    EXPECT_FALSE(line.empty()) << "a courier does not listen";
    return routes;
  }
}

void TwoHosts::replace_courier(std::size_t host) {
  couriers_.at(host)->signal(SIGKILL);
  EXPECT_EQ(couriers_.at(host)->wait(), 128 + SIGKILL);
  (void)start_courier(host);
}

void TwoHosts::replace(std::size_t i) {
  const std::string url = engines_[i]->url();
  Line line = line_of(i);
  line.insert(line.end(), {"--port", url.substr(url.rfind(':') + 1)});
  engines_[i].reset();
  engines_[i].emplace(line);
}

std::size_t TwoHosts::parcels_at(std::size_t host) const {
  const auto segments = list_segments(keepers_.at(host).socket());
  return segments.ok() ? segments->size() : SIZE_MAX;
}

void TwoHosts::expect_nothing_left(const std::vector<std::size_t>& dead) {
  for (std::size_t i = 0; i < kEngines; ++i) {
    if (std::ranges::find(dead, i) != dead.end()) continue;
    EXPECT_TRUE(becomes([&] { return engine(i).holds_nothing(); })) << name_of(i);
  }
  for (const std::size_t host : {0U, 1U}) {
    EXPECT_TRUE(becomes([&] { return keepers_.at(host).holds_nothing() && parcels_at(host) == 0; }))
        << host;
  }
  EXPECT_TRUE(becomes([&] { return router->metric("aqua_router_requests") == 0; }));
}

Answer TwoHosts::ask_at_a(std::uint32_t question, std::uint32_t tokens,
                          const std::function<void()>& then) {
  const auto drain = [&](bool remove) {
    for (std::size_t i = 1; i < kEngines; ++i) {
      EXPECT_EQ(router->order("/admin/v1/engines/" + name_of(i) + "/drain", "", remove), 200);
    }
  };
  drain(false);
  bool called = false;
  return router::test::ask(router->url(),
                           router::test::request_of(prompt_of(question), question, tokens),
                           "/v1/completions", [&](const Answer& so_far) {
                             if (so_far.ids.size() < 20 || std::exchange(called, true)) return true;
                             drain(true);
                             EXPECT_EQ(router->engine("a").at("requests"), 1);
                             then();
                             return true;
                           });
}

}  // namespace aqua::fleet::test
