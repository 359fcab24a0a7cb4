// SPDX-License-Identifier: Apache-2.0
// Router knows every path of the API, who may call it, and what answers.
//
// Threads: add() before serving; the rest is constant.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/access/caller.hpp"
#include "coordinator/http/reply.hpp"

namespace aqua::coordinator {

enum class Access : std::uint8_t {
  anybody,    // also without a token over TCP
  reader,     // read-only and above
  session,    // an engine with a session
  operators,  // operators
};

// One request on its way to a handler; everything is borrowed for the call.
struct Call {
  std::string_view path;
  std::string_view query;
  const Caller& caller;
  std::span<const std::string> parameters;  // what stands for each {…} of the route's path
  std::string_view body;
  std::string_view idempotency_key;  // "" where none was sent
};
using Handler = std::function<Reply(const Call& call)>;

// Which requests go before others, and which may hold a thread for long.
enum class Lane {
  common,
  vital,  // runs ahead of the others: without it a live engine would be taken for dead. Takes no
          // body.
  probe,  // is anybody's, and has threads of its own: without it a live daemon would be taken for
          // dead. Takes no body, and its reply is short.
  watch,  // waits; counted apart from the others
};

struct Route {
  std::string method;
  std::string path;  // "/v1/reclaims/{id}": each {…} stands for one whole segment
  Access access = Access::operators;
  Handler handler;
  Lane lane = Lane::common;
};

inline constexpr std::string_view kOtherPath = "other";

class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }
  [[nodiscard]] const std::vector<Route>& routes() const noexcept { return routes_; }

  struct Match {
    const Route* route = nullptr;  // nullptr: none
    std::vector<std::string> parameters;
    std::string allowed;  // other methods that this path has, "GET, PUT"; "": no such path
  };
  // Paths are compared byte by byte: nothing is decoded, joined or tidied. HEAD is GET.
  [[nodiscard]] Match match(std::string_view method, std::string_view path) const;
  // The lane of the route that `text`, what has come of a request, asks for; common where there is
  // none.
  [[nodiscard]] Lane lane_of(std::string_view text) const;
  // How metrics and logs name the path, whatever the method: the route's, or "other". From a
  // fixed set, whatever paths people try.
  [[nodiscard]] std::string_view label_of(std::string_view path) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace aqua::coordinator
