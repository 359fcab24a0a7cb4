// SPDX-License-Identifier: Apache-2.0
// aqua_kill_node: one engine with libaqua inside, driven by JSON lines: a command on stdin,
// its answer on stdout. The first line it writes says that it is open. It ends with its stdin.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "device/device.hpp"
#include "runtime/impl.hpp"
#include "tests/kill/arming.hpp"
#include "tests/kill/json.hpp"
#include "tests/kill/node_options.hpp"
#include "tests/kill/tenant.hpp"

namespace aqua::kill_test {
namespace {

Json to_json(const TierStatus& tier) {
  return {
      {"tensors", tier.tensors}, {"bytes", tier.tensor_bytes}, {"capacity", tier.capacity_bytes}};
}

Json to_json(const Findings& findings) {
  return {{"passes", findings.passes},       {"mismatches", findings.mismatches},
          {"strangers", findings.strangers}, {"lost", findings.lost},
          {"errors", findings.errors},       {"first", findings.first}};
}

Json to_json(const ReclaimProgress& progress) {
  Json json{{"done", progress.done},
            {"wanted", progress.bytes_wanted},
            {"returned", progress.bytes_returned}};
  json["holders"] = Json::array();
  for (const Holder& holder : progress.holders) json["holders"].push_back(holder.pid);
  return json;
}

class Node {
 public:
  explicit Node(const NodeOptions& options) : options_(options) {}

  [[nodiscard]] Result<void> open() {
    RuntimeOptions runtime;
    runtime.device = options_.device;
    runtime.coordinator = options_.coordinator;
    runtime.name = options_.name;
    runtime.host_bytes = options_.host_bytes;
    runtime.max_peer_bytes = options_.consumer ? options_.peer_bytes : 0;
    runtime.slab_bytes = options_.slab_bytes;
    runtime.socket_directory = options_.sockets;
    runtime.emulated.total_bytes = options_.device_bytes;
    runtime.callbacks.on_log = [name = options_.name](LogLevel level, const std::string& text) {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      std::fprintf(stderr, "%.6f %s%s %s\n", std::chrono::duration<double>(now).count(),
                   name.c_str(),
                   level == LogLevel::info      ? ""
                   : level == LogLevel::warning ? " W"
                                                : " E",
                   text.c_str());
    };
    AQUA_ASSIGN(runtime_, Runtime::open(runtime));
    AQUA_ASSIGN(tenant_,
                Tenant::open(*runtime_, {.tenant = options_.tenant,
                                         .engine_bytes = options_.engine_bytes,
                                         .tensors = options_.consumer ? options_.tensors : 0,
                                         .tensor_bytes = options_.tensor_bytes}));
    tenant_->start();
    return {};
  }

  [[nodiscard]] Json answer(const Json& command) {
    const std::string what = command.at("do");
    if (what == "status") return status();
    if (what == "verify") return to_json(tenant_->verify());
    if (what == "sweep") return {{"bytes", tenant_->sweep(options_.peer_bytes)}};
    if (what == "arm") return outcome(arm(command.at("at").get<std::string>()));
    if (what == "lend") return outcome(runtime_->lend(command.at("bytes").get<std::size_t>()));
    if (what == "reclaim") return outcome(reclaim(command));
    return {{"error", "unknown command " + what}};
  }

 private:
  [[nodiscard]] static Json outcome(const Result<void>& result) {
    return result.ok() ? Json::object() : Json{{"error", result.error().message}};
  }

  [[nodiscard]] Json status() {
    const RuntimeStatus now = runtime_->status();
    return {{"connected", now.connected},
            {"lent", now.lent_bytes},
            {"held", now.held_bytes},
            {"peer", to_json(now.peer)},
            {"host", to_json(now.host)},
            {"lost", now.lost_tensors},
            {"promotions", now.promotions},
            {"evacuations", now.evacuations},
            {"calls", now.coordinator_calls},
            {"not_borrowing", now.not_borrowing},
            {"free", detail::Internals::impl(*runtime_).device().free_bytes()},
            {"reclaim", to_json(reclaim_.progress())}};
  }

  [[nodiscard]] Result<void> reclaim(const Json& command) {
    AQUA_ASSIGN(reclaim_,
                runtime_->reclaim(command.at("bytes").get<std::size_t>(),
                                  std::chrono::milliseconds(command.at("within_ms").get<int>())));
    return {};
  }

  const NodeOptions options_;
  std::optional<Runtime> runtime_;
  std::unique_ptr<Tenant> tenant_;  // goes before the runtime
  Reclaim reclaim_;
};

int run(const NodeOptions& options) {
  if (const auto armed = arm(options.at); !armed.ok()) {
    std::fprintf(stderr, "%s\n", armed.error().message.c_str());
    return 2;
  }
  Node node(options);
  if (const auto opened = node.open(); !opened.ok()) {
    std::fprintf(stderr, "open: %s\n", opened.error().message.c_str());
    return 1;
  }
  std::cout << Json{{"pid", ::getpid()}} << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const Json command = Json::parse(line, nullptr, false);
    if (command.is_discarded()) return 2;
    if (command.at("do") == "quit") return 0;
    std::cout << node.answer(command) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace aqua::kill_test

int main(int argc, char** argv) {
  const auto options =
      aqua::kill_test::parse_node_options({argv + 1, argv + (argc > 0 ? argc : 1)});
  if (!options.ok()) {
    std::fprintf(stderr, "%s\n", options.error().message.c_str());
    return 2;
  }
  return aqua::kill_test::run(*options);
}
