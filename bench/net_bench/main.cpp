// SPDX-License-Identifier: Apache-2.0
// What couriers move from one keeper to another over loopback, against OpenSSL alone over as many
// connections: parcels that are closed at one keeper until their taker at the other one has
// finished them, and their giver was told. Likewise over UCX, against ucx_perftest. And what it
// costs that KV lies in blocks (blocks.hpp).
#include <poll.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "courier_files.hpp"
#include "harness.hpp"
#include "must.hpp"
#include "net_bench/bare_tls.hpp"
#include "net_bench/blocks.hpp"
#include "net_bench/ucx_alone.hpp"
#include "report/goal.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"
#include "tools/courier/carry/keeper_side.hpp"
#include "tools/courier/net/sockets.hpp"
#include "tools/http/http_client.hpp"
#include "tools/http/metrics_text.hpp"

namespace {

using namespace aqua::bench;
using Json = nlohmann::json;
using aqua::courier::KeeperSide;
namespace pool_wire = aqua::pool_wire;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kInARound = 512 * kMiB;
constexpr std::uint32_t kWindow = 4;  // parcels on the way over a connection

void wait_for_news(KeeperSide& side) {
  std::vector<pollfd> watched;
  for (const int fd : side.descriptors()) watched.push_back({fd, POLLIN, 0});
  (void)::poll(watched.data(), watched.size(), -1);
  must(side.clear_news());
}

// Takes and finishes so many parcels.
void take(KeeperSide& side, unsigned parcels) {
  while (parcels > 0) {
    const auto heard = must(side.ask(pool_wire::Accept{parcels}));
    for (const aqua::Parcel& parcel : heard.parcels) {
      must(side.ask(pool_wire::Finish{parcel.number}));
      must(side.ask(pool_wire::Admit{"prefill", 1}));
      --parcels;
    }
    if (heard.parcels.empty()) wait_for_news(side);
  }
}

// Gives so many parcels, `at_once` at a time, and returns when all have arrived.
void give(KeeperSide& side, unsigned parcels, std::uint64_t bytes, unsigned at_once) {
  static std::uint64_t last = 0;
  std::set<std::uint64_t> reserved, closed;
  std::vector<std::uint64_t> open;
  unsigned begun = 0;
  for (unsigned arrived = 0; arrived < parcels;) {
    while (begun < parcels && reserved.size() + closed.size() < at_once) {
      const auto opened = must(side.ask(pool_wire::Open{
          .role = "decode", .head = {aqua::concat("r", ++last), 1}, .needs_room = true}));
      ++begun;
      if (opened.open) {
        open.push_back(opened.number);
      } else {
        reserved.insert(opened.number);
      }
      if (!open.empty()) break;
    }
    for (const std::uint64_t number : open) {
      const auto segment = must(side.segments().take(bytes));
      must(side.segments().commit(
          {.number = segment.number, .bytes = bytes, .digest = {}, .parcel = number}));
      must(side.ask(pool_wire::Close{{.number = number, .id = "r", .turn = 1, .tokens = 1}}));
      closed.insert(number);
    }
    if (!open.empty()) {
      open.clear();
      continue;
    }
    wait_for_news(side);
    for (const aqua::ParcelNews& news : must(side.ask(pool_wire::Accept{0})).told) {
      if (news.event == aqua::ParcelEvent::opened) {
        reserved.erase(news.number);
        open.push_back(news.number);
      } else if (closed.erase(news.number) != 0) {
        ++arrived;
      }
    }
  }
}

// A courier on each side, which carry what "prefill" gives in these pools to "decode".
class Couriers {
 public:
  Couriers(const std::string& binary, const CourierFiles& files, const Keeper& a, const Keeper& b,
           const std::vector<std::string>& pools, unsigned connections,
           const std::string& carrier = "tls")
      : address_("127.0.0.1:" + std::to_string(free_port())),
        metrics_("127.0.0.1:" + std::to_string(free_port())),
        to_(binary,
            files.config("b", b.socket(),
                         with(carrier, {{"listen", {{"address", address_}, {"peers", {"a.test"}}}},
                                        {"metrics", metrics_}}))),
        from_(binary, files.config("a", a.socket(),
                                   with(carrier, {{"carry", routes(pools, connections)}}))) {}

  // How many of the connections between them have UCX move the bytes. Waits until one is there.
  [[nodiscard]] double over_ucx() const {
    aqua::http::HttpOptions options;
    options.url = "http://" + metrics_;
    aqua::http::HttpClient client(must(aqua::http::parse_url(options.url)), options);
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < until) {
      const std::string page = must(client.get("/metrics")).body;
      if (aqua::http::metric_sum(page, "aqua_courier_visitors").value_or(0) > 0)
        return aqua::http::metric_sum(page, "aqua_courier_ucx_visitors").value_or(0);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return must(
        aqua::Result<double>(aqua::Error{aqua::Code::unavailable, "the couriers do not connect"}));
  }

 private:
  static Json with(const std::string& carrier, Json file) {
    file.update({{"carrier", carrier}, {"trusted_network", carrier != "tls"}});
    return file;
  }
  [[nodiscard]] Json routes(const std::vector<std::string>& pools, unsigned connections) const {
    Json all = Json::array();
    for (const std::string& pool : pools) {
      all.push_back({{"pool", pool},
                     {"from", "prefill"},
                     {"to", "decode"},
                     {"peer", "b.test"},
                     {"address", address_},
                     {"parcels", kWindow},
                     {"connections", connections}});
    }
    return all;
  }

  const std::string address_, metrics_;
  const CourierProcess to_, from_;
};

class Bench {
 public:
  Bench(const std::string& keeper, std::string courier, const std::string& certificates,
        unsigned rounds)
      : courier_(std::move(courier)),
        rounds_(rounds),
        files_(certificates),
        a_(keeper),
        b_(keeper),
        bare_(files_.identity("b"), files_.identity("a"), free_port()),
        ucx_alone_(free_port()) {}

  Json run() {
    Json report;
    for (const unsigned connections : {1U, 2U}) {
      for (const std::uint64_t mib : {1U, 16U, 64U}) measure(report, connections, mib * kMiB);
    }
    for (const Json& row : report["rows"]) {
      if (row["bytes"] != 64 * kMiB) continue;
      report["goals"].push_back(judge("parcels of 64 MiB over " +
                                          std::to_string(row["connections"].get<unsigned>()) +
                                          " connections, over OpenSSL alone",
                                      Bound::at_least, 0.8, row["of_bare"].get<double>()));
    }
    over_ucx(report);
    report["blocks"] = in_blocks();
    report["goals"].push_back(judge("blocks of 16 KiB, over one large buffer of as many bytes",
                                    Bound::at_least, 0.9,
                                    report["blocks"]["of_whole"].get<double>()));
    return report;
  }

 private:
  void measure(Json& report, unsigned connections, std::uint64_t bytes) {
    const Couriers couriers(courier_, files_, a_, b_, {"net"}, connections);
    const auto [carried, bare] = rounds_of(
        connections, bytes, [&] { return bare_.measure(connections, kInARound / connections); });
    report["rows"].push_back({{"connections", connections},
                              {"bytes", bytes},
                              {"carried_bytes_per_s", median(carried)},
                              {"bare_bytes_per_s", median(bare)},
                              {"of_bare", median(ratios(carried, bare))}});
    std::printf("%u connections, parcels of %3u MiB: %6.0f MB/s, OpenSSL alone %6.0f MB/s: %.2f\n",
                connections, static_cast<unsigned>(bytes / kMiB), median(carried) / 1e6,
                median(bare) / 1e6, median(ratios(carried, bare)));
    std::fflush(stdout);
  }

  void over_ucx(Json& report) {
    constexpr std::uint64_t kBytes = 64 * kMiB;
    const auto skip = [&](const char* why) {
      report["ucx"] = {{"skipped", why}};
      std::printf("UCX: skipped: %s\n", why);
    };
    if (aqua::courier::has_rdma_device())
      return skip("there is RDMA here, which couriers take, and this is of TCP");
    if (!UcxAlone::is_installed()) return skip("no ucx_perftest here (Debian's ucx-utils)");
    const Couriers couriers(courier_, files_, a_, b_, {"net"}, 1, "ucx");
    if (couriers.over_ucx() < 1)
      return skip("the couriers go over TLS: no UCX in this build, or here");
    const auto [carried, alone] = rounds_of(1, kBytes, [&] {
      return ucx_alone_.measure(8 * kMiB, static_cast<unsigned>(kInARound / (8 * kMiB)));
    });
    const double of_alone = median(ratios(carried, alone));
    report["ucx"] = {{"connections", 1},
                     {"bytes", kBytes},
                     {"carried_bytes_per_s", median(carried)},
                     {"ucx_perftest_bytes_per_s", median(alone)},
                     {"of_ucx_perftest", of_alone}};
    report["goals"].push_back(judge("parcels of 64 MiB over UCX on TCP, over ucx_perftest",
                                    Bound::at_least, 0.9, of_alone));
    std::printf("UCX on TCP, parcels of 64 MiB: %6.0f MB/s, ucx_perftest %6.0f MB/s: %.2f\n",
                median(carried) / 1e6, median(alone) / 1e6, of_alone);
    std::fflush(stdout);
  }

  // Bytes a second that couriers and `measure_alone` have moved, in each round.
  template <typename Alone>
  [[nodiscard]] std::pair<std::vector<double>, std::vector<double>> rounds_of(
      unsigned connections, std::uint64_t bytes, const Alone& measure_alone) const {
    KeeperSide giver = must(KeeperSide::join(a_.socket(), "net", "prefill", {}));
    KeeperSide taker = must(KeeperSide::join(b_.socket(), "net", "decode", {}));
    const unsigned at_once = kWindow * connections;
    must(taker.ask(pool_wire::Admit{"prefill", 2 * at_once}));
    const auto parcels = static_cast<unsigned>(kInARound / bytes);
    std::vector<double> carried, all_alone;
    for (unsigned round = 0; round <= rounds_; ++round) {
      std::thread taking([&] { take(taker, parcels); });
      const double begin = now();
      give(giver, parcels, bytes, at_once);
      const double seconds = now() - begin;
      taking.join();
      const double alone = measure_alone();
      if (round == 0) continue;  // memory is touched for the first time
      carried.push_back(static_cast<double>(parcels * bytes) / seconds);
      all_alone.push_back(alone);
    }
    return {carried, all_alone};
  }

  [[nodiscard]] Json in_blocks() const {
    const Couriers couriers(courier_, files_, a_, b_, {kBlocksPool, kWholePool}, 1);
    Json row = measure_blocks(a_.socket(), b_.socket(), rounds_);
    std::printf("64 MiB from cache to cache: in blocks of 16 KiB %6.0f MB/s, as one %6.0f: %.2f\n",
                row["blocks_bytes_per_s"].get<double>() / 1e6,
                row["whole_bytes_per_s"].get<double>() / 1e6, row["of_whole"].get<double>());
    return row;
  }

  const std::string courier_;
  const unsigned rounds_;
  const CourierFiles files_;
  Keeper a_, b_;
  const BareTls bare_;
  const UcxAlone ucx_alone_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string keeper, courier, certificates, json;
  unsigned rounds = 5;
  CLI::App app("Carrying KV from one server to another, against OpenSSL alone.");
  app.add_option("--keeper-binary", keeper, "aqua-keeper")->required();
  app.add_option("--courier-binary", courier, "aqua-courier")->required();
  app.add_option("--certificates-binary", certificates, "aqua-courier-certificates")->required();
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 1000));
  app.add_option("--json", json, "a file for the report");
  CLI11_PARSE(app, argc, argv);
  const Json report = Bench(keeper, courier, certificates, rounds).run();
  print_goals(report["goals"]);
  write_report(json, report);
  return 0;
}
