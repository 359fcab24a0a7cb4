// SPDX-License-Identifier: Apache-2.0
#include "tools/router/flow/errand.hpp"

#include <chrono>
#include <utility>

#include "base/concat.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/http/start_thread.hpp"

namespace aqua::router {
namespace {

constexpr std::chrono::seconds kErrandPatience{30};

}  // namespace

Errand::Errand(std::shared_ptr<const EngineDoor> engine, EngineCall call,
               std::function<void(const Result<void>&)> done)
    : engine_(std::move(engine)),
      call_(std::move(call)),
      done_(std::move(done)),
      client_(engine_->url, {.api_key = engine_->api_key, .timeout = kErrandPatience}) {
  auto thread = http::start_thread([this] { run(); });
  if (thread.ok()) {
    thread_ = std::move(thread).value();
  } else {
    over_ = true;
    done_(std::move(thread).error());
  }
}

Errand::~Errand() {
  if (!cut_.exchange(true)) client_.stop();
  if (thread_.joinable()) thread_.join();
}

void Errand::run() {
  const auto reply = client_.post(call_.path, call_.body,
                                  [](std::string_view, auto) { return http::Heard::something; });
  Result<void> done;
  if (!reply.ok()) {
    done = reply.error();
  } else if (reply->status != 200) {
    done = Error{Code::unavailable, concat("engine ", engine_->name, ": answers ", reply->status,
                                           ": ", http::error_text(reply->body))};
  }
  if (!cut_) done_(done);
  over_ = true;
}

}  // namespace aqua::router
