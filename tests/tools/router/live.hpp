// SPDX-License-Identifier: Apache-2.0
// Real processes for tests of the router: simulated engines, the router in front, and clients that
// know what the answer must be.
//
// Threads: one, but ask() and what it uses: any.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/coordinator/child_process.hpp"
#include "tools/sim_server/vocabulary.hpp"

namespace aqua::router::test {

using Json = nlohmann::json;

struct Answer {
  int status = 0;
  std::vector<tool::TokenId> ids{};
  std::string text{};
  std::string finish{};
  std::string error{};  // of an error event, or of a reply that is none
  bool done = false;    // "[DONE]", or a whole reply
  Json body{};          // of a reply that is no stream
  friend bool operator==(const Answer& a, const Answer& b) {
    return a.ids == b.ids && a.text == b.text && a.finish == b.finish && a.done == b.done;
  }
  friend void PrintTo(const Answer& a, std::ostream* out) {
    *out << a.status << ", " << a.ids.size() << " tokens, '" << a.finish << "' " << a.error << ": "
         << ::testing::PrintToString(a.ids) << " '" << a.text << "'";
  }
};

// What any engine answers to these ids.
[[nodiscard]] Answer expected_answer(const std::vector<tool::TokenId>& prompt, std::uint64_t seed,
                                     std::uint32_t tokens);
[[nodiscard]] std::vector<tool::TokenId> some_prompt(std::uint32_t seed, std::size_t tokens);
[[nodiscard]] Json request_of(const std::vector<tool::TokenId>& prompt, std::uint64_t seed,
                              std::uint32_t tokens);

// Asks at `url`. `token` is called after each event that brings some, and ends the call by false.
Answer ask(const std::string& url, const Json& body, const std::string& path = "/v1/completions",
           const std::function<bool(const Answer&)>& token = {}, const std::string& key = "");
// Waits for what must become true; false after a minute.
[[nodiscard]] bool becomes(const std::function<bool()>& true_);

class EngineProcess {
 public:
  explicit EngineProcess(std::vector<std::string> arguments = {});
  [[nodiscard]] const std::string& url() const { return url_; }
  // The share of its KV that is in use.
  [[nodiscard]] double used() const;
  aqua::testing::ChildProcess child;

 private:
  std::string url_;
};

class RouterProcess {
 public:
  // Engines are called a, b, c … in their order. Returns once `up` of them are up. `program`: one
  // that behaves like the router.
  RouterProcess(const std::vector<std::string>& engine_urls,
                std::vector<std::string> arguments = {}, std::size_t up = SIZE_MAX,
                const std::string& program = {});
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] Json get(const std::string& path) const;
  // The status of an order, a POST or a DELETE.
  int order(const std::string& path, const std::string& body = "", bool remove = false) const;
  // The sum of a metric's samples whose labels contain `label`.
  [[nodiscard]] double metric(const std::string& name, const std::string& label = "") const;
  [[nodiscard]] Json engine(const std::string& name) const;
  aqua::testing::ChildProcess child;

 private:
  std::string url_;
};

}  // namespace aqua::router::test
