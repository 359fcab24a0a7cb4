// SPDX-License-Identifier: Apache-2.0
#include "tests/examples/fleet/rig.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "aqua/handoff/pools.hpp"
#include "tools/http/http_client.hpp"
#include "tools/http/metrics_text.hpp"

namespace aqua::fleet::test {
namespace {

using namespace std::chrono_literals;
using router::test::request_of;

constexpr std::uint32_t kQuestions = 24;
constexpr std::size_t kPromptTokens = 60;

std::string metrics_of(const std::string& url) {
  http::HttpClient client(http::parse_url(url).value(), {.timeout = 5s});
  const auto reply = client.get("/metrics");
  return reply.ok() ? reply->body : "";
}

bool begins_as(const Answer& part, const Answer& whole) {
  return part.ids.size() <= whole.ids.size() &&
         std::equal(part.ids.begin(), part.ids.end(), whole.ids.begin()) &&
         whole.text.starts_with(part.text);
}

std::vector<std::string> line_of(std::vector<std::string> line,
                                 const std::vector<std::string>& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

}  // namespace

Place::Place() {
  std::string path = (std::filesystem::temp_directory_path() / "aqua-fleet-XXXXXX").string();
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  path_ = path;
}

Place::~Place() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Keeper::Keeper() {
  start_again();
}

void Keeper::start_again() {
  child_.emplace(std::vector<std::string>{AQUA_KEEPER_PROGRAM, "--socket", place_.keeper()});
  EXPECT_NE(child_->read_line().find("listening"), std::string::npos);
}

void Keeper::kill() {
  child_->signal(SIGKILL);
  EXPECT_EQ(child_->wait(), 128 + SIGKILL);
}

bool Keeper::has_pools() const {
  const auto pools = list_pools(socket());
  return pools.ok() && !pools->empty();
}

bool Keeper::holds_nothing() const {
  const auto pools = list_pools(socket());
  if (!pools.ok()) return false;
  for (const PoolStatus& pool : *pools) {
    if (pool.offered + pool.shared + pool.orphaned + pool.quarantined + pool.waiting > 0)
      return false;
  }
  return true;
}

FleetEngine::FleetEngine(const std::vector<std::string>& line)
    : child(line), url_(child.read_line()) {}

FleetEngine::FleetEngine(std::string name, const std::vector<std::string>& arguments)
    : FleetEngine(line_of({AQUA_FLEET_ENGINE_PROGRAM, "--name", std::move(name)}, arguments)) {}

FleetEngine::FleetEngine(const Keeper& keeper, std::string name,
                         const std::vector<std::string>& arguments)
    : FleetEngine(std::move(name), line_of({"--keeper", keeper.socket()}, arguments)) {}

double FleetEngine::metric(const std::string& name) const {
  return http::metric_sum(metrics_of(url_), name).value_or(-1);
}

bool FleetEngine::holds_nothing() const {
  const std::string text = metrics_of(url_);
  for (const char* name : {"fleet_requests", "fleet_blocks_held", "fleet_blocks_of_rooms"}) {
    if (http::metric_sum(text, name).value_or(-1) != 0) return false;
  }
  return true;
}

std::vector<std::uint32_t> prompt_of(std::uint32_t question) {
  return router::test::some_prompt(question, kPromptTokens);
}

Clients::Clients(std::string url, std::size_t clients, std::uint32_t tokens)
    : url_(std::move(url)), tokens_(tokens) {
  for (std::size_t i = 0; i < clients; ++i) threads_.emplace_back([this, i] { ask_for_ever(i); });
}

void Clients::end() {
  over_ = true;
  threads_.clear();
}

void Clients::expect_all_right() {
  end();
  EXPECT_EQ(right_, asked_) << wrong_;
  EXPECT_GT(asked_, 0U);
}

const Answer& Clients::expected(std::uint32_t question) {
  const std::lock_guard lock(mu_);
  const auto [found, is_new] = expected_.try_emplace(question);
  if (is_new) found->second = reference_answer(prompt_of(question), question, tokens_);
  return found->second;
}

void Clients::change_life() {
  ++life_;
  life_.notify_all();
}

void Clients::ask_for_ever(std::size_t client) {
  for (auto n = static_cast<std::uint32_t>(client); !over_; ++n) {
    unsigned life = life_;
    for (; life % 2 == 1; life = life_) life_.wait(life);
    const std::uint32_t question = n % kQuestions;
    const Answer answer =
        router::test::ask(url_, request_of(prompt_of(question), question, tokens_));
    ++asked_;
    const bool broke_off = !answer.done && life_ != life;
    if (answer == expected(question) || (broke_off && begins_as(answer, expected(question)))) {
      ++right_;
      continue;
    }
    const std::lock_guard lock(mu_);
    wrong_ += answer.error + " after " + std::to_string(answer.ids.size()) + " tokens; ";
  }
}

bool move_the_only_one(const RouterProcess& router, bool by_tokens) {
  const Json requests = router.get("/admin/v1/requests").at("requests");
  if (requests.empty()) return false;
  Json body{{"to", requests[0].at("engine") == "a" ? "b" : "a"}};
  if (by_tokens) body["by"] = "tokens";
  const std::string name = requests[0].at("name");
  return router.order("/admin/v1/requests/" + name + "/move", body.dump()) == 200;
}

Answer ask_and_move(const RouterProcess& router, const std::vector<std::uint32_t>& prompt,
                    std::uint32_t seed, std::uint32_t tokens) {
  bool moved = false;
  return router::test::ask(router.url(), router::test::request_of(prompt, seed, tokens),
                           "/v1/completions", [&](const Answer& so_far) {
                             if (so_far.ids.size() < 20 || std::exchange(moved, true)) return true;
                             EXPECT_TRUE(move_the_only_one(router));
                             return true;
                           });
}

void move_around(const RouterProcess& router, std::mt19937& random, std::size_t engines,
                 bool by_tokens) {
  const Json all = router.get("/admin/v1/requests");
  for (const Json& request : all.value("requests", Json::array())) {
    Json body{{"to", std::string(1, static_cast<char>('a' + random() % engines))}};
    if (by_tokens) body["by"] = "tokens";
    (void)router.order("/admin/v1/requests/" + request.at("name").get<std::string>() + "/move",
                       body.dump());
  }
}

double moves_done(const RouterProcess& router, const std::string& kind) {
  http::HttpClient client(http::parse_url(router.url()).value(), {.timeout = 60s});
  const auto reply = client.get("/metrics");
  if (!reply.ok()) return -1;
  double sum = 0;
  for (const auto& sample : http::find_metric(reply->body, "aqua_router_moves_total")) {
    if (sample.labels.at("kind") == kind && sample.labels.at("outcome") == "done")
      sum += sample.value;
  }
  return sum;
}

}  // namespace aqua::fleet::test
