// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/load/engine_link.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/http/engine_answer.hpp"

namespace aqua::profiler {

Result<std::string> fetch(const EngineLink& engine, const std::string& path) {
  HttpClient client(engine.url, engine.http);
  AQUA_ASSIGN(Reply reply, client.get(path));
  if (reply.status == 200) return std::move(reply.body);
  return Error{reply.status == 404 ? Code::not_found : Code::unavailable,
               concat("GET ", path, ": the engine answers ", reply.status, ": ",
                      http::error_text(reply.body))};
}

}  // namespace aqua::profiler
