// SPDX-License-Identifier: Apache-2.0
// SimAnswer: the ids and the text of one request's answer, as a LiveEngine gives it time to produce
// them, in the words of OpenAI's API: as events, or whole.
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim_server/live_engine.hpp"
#include "tools/sim_server/sim_request.hpp"

namespace aqua::tool {

class SimAnswer {
 public:
  // Submits the request; `engine` outlives it.
  SimAnswer(LiveEngine& engine, SimRequest request);
  ~SimAnswer();  // aborts what is not over
  SimAnswer(const SimAnswer&) = delete;
  SimAnswer& operator=(const SimAnswer&) = delete;

  // The events that are there by now, and at the end the last ones; a comment where none is, which
  // finds out who has gone. `over` is set behind the last.
  [[nodiscard]] std::string next_events(bool& over);
  // All of it, once it is there; `gone` is asked meanwhile, and ends it with cancelled.
  // resource_exhausted: larger than the device.
  [[nodiscard]] Result<std::string> whole(const std::function<bool()>& gone);

 private:
  struct Produced {
    std::string text{};
    std::vector<TokenId> ids{};
    std::string_view reason{};  // "": goes on
  };

  // The next token; the engine has produced it.
  [[nodiscard]] Produced take_token();
  [[nodiscard]] std::string event_of(const Produced& token) const;
  [[nodiscard]] std::string usage() const;

  LiveEngine& engine_;
  const SimRequest request_;
  std::shared_ptr<LiveEngine::Job> job_;
  Continuation continuation_;
  Detokenizer detokenizer_;
  std::uint32_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace aqua::tool
