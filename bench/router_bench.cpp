// SPDX-License-Identifier: Apache-2.0
// What the router costs: tokens a second through it and beside it, in the same run, in turns; its
// CPU for a token; its memory and threads with many streams, and with as many as it takes.
//
// Engine, router and clients are processes of this machine and share its cores. `paced` engines
// say a token as often as a GPU would: the goal is for them. `flat out` the engine says them as
// quickly as it can, so that the ratio is the router's share of the CPU.
#include <netinet/in.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <thread>

#include "harness.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"
#include "tools/daemon/descriptor_limit.hpp"
#include "tools/http/http_client.hpp"
#include "tools/http/sse.hpp"

namespace {

using namespace aqua;
using bench::median;
using bench::must;
using bench::ProgramInDirectory;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr double kGoal = 0.9;
constexpr std::size_t kStreams = 64, kManyStreams = 512;
constexpr std::size_t kMostStreams = 1024;  // that the router takes unless told otherwise

struct Wanted {
  std::string router{}, engine{}, json{};
  int rounds = 5;
  double seconds = 3;
};

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    std::exit((std::perror("bind"), 1));
  ::close(fd);
  return ntohs(address.sin_port);
}

std::string url_of(int port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

double cpu_seconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  double user = 0, system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

long status_number(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
  }
  return 0;
}

// Ids that an event tells. Events are not counted: the router joins tokens of one character, which
// the engine says one by one.
std::uint64_t ids_in(std::string_view event) {
  constexpr std::string_view kList = R"("token_ids":[)";
  const std::size_t at = event.find(kList);
  if (at == event.npos) return 0;
  event.remove_prefix(at + kList.size());
  event = event.substr(0, event.find(']'));
  return event.empty() ? 0 : 1 + static_cast<std::uint64_t>(std::ranges::count(event, ','));
}

// Streams that go on until this ends, and their tokens.
class Streams {
 public:
  Streams(const std::string& url, std::size_t number) {
    const auto place = must(http::parse_url(url), "url");
    for (std::size_t i = 0; i < number; ++i) {
      threads_.emplace_back([this, place, i] {
        const json body{{"prompt", {1, 10, 11, 12 + i % 200}},
                        {"seed", i},
                        {"stream", true},
                        {"return_token_ids", true},
                        {"max_tokens", 100'000},
                        {"ignore_eos", true}};
        http::HttpClient client(place, {});
        http::SseReader reader;
        bool begun = false;
        const auto reply =
            client.post("/v1/completions", body.dump(), [&](std::string_view bytes, auto) {
              std::uint64_t tokens = 0;
              (void)reader.feed(bytes, [&](std::string_view event) { tokens += ids_in(event); });
              tokens_ += tokens;
              if (tokens > 0 && !std::exchange(begun, true)) ++begun_;
              return over_ ? http::Heard::enough : http::Heard::something;
            });
        if (begun) return;
        std::fprintf(stderr, "a stream did not begin: %s\n",
                     reply.ok() ? reply->body.c_str() : reply.error().message.c_str());
        std::_Exit(1);
      });
    }
    while (begun_ < number) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~Streams() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  [[nodiscard]] std::uint64_t tokens() const { return tokens_; }

 private:
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> tokens_{0}, begun_{0};
  std::vector<std::thread> threads_;
};

struct Rate {
  double tokens_per_s = 0, router_cpu_us_per_token = 0;
};

Rate measure_rate(const std::string& url, std::size_t streams, pid_t router, double seconds) {
  const Streams load(url, streams);
  const std::uint64_t before = load.tokens();
  const double cpu = cpu_seconds(router);
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  const auto tokens = static_cast<double>(load.tokens() - before);
  return {tokens / took, 1e6 * (cpu_seconds(router) - cpu) / std::max(1.0, tokens)};
}

// An engine of that speed with a router in front, and both asked in turns.
json compare(const Wanted& wanted, const std::string& name, double speed) {
  const int engine_port = free_port(), router_port = free_port();
  const ProgramInDirectory engine(
      wanted.engine,
      {"aqua-sim-server", "--speed", std::to_string(speed), "--port", std::to_string(engine_port)},
      "/tmp");
  const ProgramInDirectory router(
      wanted.router,
      {"aqua-router", "--listen", "127.0.0.1:" + std::to_string(router_port), "--engine",
       "a=" + url_of(engine_port)},
      "/tmp");
  http::HttpClient probe(must(http::parse_url(url_of(router_port)), "url"), {});
  for (auto ready = probe.get("/readyz"); !ready.ok() || ready->status != 200;
       ready = probe.get("/readyz")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::vector<double> direct, routed, ratios, cpu;
  for (int round = 0; round < wanted.rounds; ++round) {
    direct.push_back(
        measure_rate(url_of(engine_port), kStreams, router.pid(), wanted.seconds).tokens_per_s);
    const Rate rate = measure_rate(url_of(router_port), kStreams, router.pid(), wanted.seconds);
    routed.push_back(rate.tokens_per_s);
    cpu.push_back(rate.router_cpu_us_per_token);
    ratios.push_back(routed.back() / direct.back());
  }
  std::printf(
      "%s, %zu streams: direct %.0f tokens/s, through the router %.0f: %.3f of it; %.1f us "
      "of its CPU a token\n",
      name.c_str(), kStreams, median(direct), median(routed), median(ratios), median(cpu));
  std::fflush(stdout);
  return {{"name", name},
          {"speed", speed},
          {"streams", kStreams},
          {"direct_tokens_per_s", median(direct)},
          {"routed_tokens_per_s", median(routed)},
          {"ratio", median(ratios)},
          {"least_ratio", *std::ranges::min_element(ratios)},
          {"router_cpu_us_per_token", median(cpu)},
          {"rounds", wanted.rounds}};
}

json memory(const Wanted& wanted, std::size_t streams) {
  std::vector<std::unique_ptr<ProgramInDirectory>> engines;
  // One more connection asks whether it is ready.
  std::vector<std::string> words{"aqua-router",
                                 "--listen",
                                 "",
                                 "--epoch",
                                 "200",
                                 "--connections",
                                 std::to_string(streams + 1)};
  constexpr std::size_t kStreamsEach = 256;
  for (std::size_t i = 0; i < streams / kStreamsEach; ++i) {
    const int port = free_port();
    // Somewhat more than its share: so many take a request at one time.
    engines.push_back(std::make_unique<ProgramInDirectory>(
        wanted.engine,
        std::vector<std::string>{"aqua-sim-server", "--speed", "0.2", "--port",
                                 std::to_string(port), "--most", "300"},
        "/tmp"));
    words.push_back("--engine");
    words.push_back(std::string(1, static_cast<char>('a' + i)) + "=" + url_of(port));
  }
  const int port = free_port();
  words[2] = "127.0.0.1:" + std::to_string(port);
  const ProgramInDirectory router(wanted.router, words, "/tmp");
  http::HttpClient probe(must(http::parse_url(url_of(port)), "url"), {});
  for (auto ready = probe.get("/readyz"); !ready.ok() || ready->status != 200;
       ready = probe.get("/readyz")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const long idle_kib = status_number(router.pid(), "VmRSS");
  const Streams load(url_of(port), streams);
  const long kib = status_number(router.pid(), "VmRSS");
  const long threads = status_number(router.pid(), "Threads");
  std::printf("%zu streams: %ld KiB resident, %ld threads (idle: %ld KiB)\n", streams, kib, threads,
              idle_kib);
  return {{"streams", streams}, {"rss_kib", kib}, {"idle_rss_kib", idle_kib}, {"threads", threads}};
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  CLI::App app{"What does aqua-router cost?"};
  app.option_defaults()->always_capture_default();
  app.add_option("--router-binary", wanted.router)->required()->check(CLI::ExistingFile);
  app.add_option("--engine-binary", wanted.engine, "aqua-sim-server")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--rounds", wanted.rounds)->check(CLI::Range(1, 100));
  app.add_option("--seconds", wanted.seconds, "of each measurement")->check(CLI::PositiveNumber);
  app.add_option("--json", wanted.json, "write the report");
  CLI11_PARSE(app, argc, argv);
  (void)daemon::raise_descriptor_limit();  // for 1,024 streams, here and in the programs
  json rows = json::array();
  rows.push_back(compare(wanted, "paced", 1));
  rows.push_back(compare(wanted, "flat out", 1000));
  const bool met = rows[0]["ratio"].get<double>() >= kGoal;
  const json report{{"rates", rows},
                    {"memory", {memory(wanted, kManyStreams), memory(wanted, kMostStreams)}},
                    {"goal_ratio", kGoal},
                    {"goals_met", met},
                    {"complete", true}};
  std::printf("at least %.1f of direct where engines are paced: %s\n", kGoal,
              met ? "as promised" : "MISSED");
  bench::write_report(wanted.json, report);
  return met ? 0 : 1;
}
