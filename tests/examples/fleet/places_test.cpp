// SPDX-License-Identifier: Apache-2.0
// An engine tells turn and position of each token of an attempt that has a name, and of no other.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/examples/fleet/rig.hpp"
#include "tools/http/http_client.hpp"

namespace aqua::fleet::test {
namespace {

// The events with tokens that it is answered by.
std::vector<Json> events_of(const FleetEngine& engine, const Json& body) {
  http::HttpClient client(http::parse_url(engine.url()).value(), {});
  std::string said;
  (void)client.post("/v1/completions", body.dump(), [&](std::string_view more, auto) {
    said += more;
    return http::Heard::something;
  });
  std::vector<Json> events;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    const Json event = line.starts_with("data: {") ? Json::parse(line.substr(6)) : Json();
    if (event.contains("choices")) events.push_back(event);
  }
  return events;
}

TEST(FleetPlaces, AreToldOfANamedAttemptAlone) {
  constexpr std::uint32_t kTokens = 5;
  const FleetEngine engine("a", {"--iteration-ms", "1"});
  Json body = router::test::request_of(prompt_of(1), 1, kTokens);
  for (const Json& event : events_of(engine, body)) EXPECT_FALSE(event.contains("aqua")) << event;
  body["aqua"] = {{"request", "r"}, {"turn", 7}, {"answered", 3}};
  const std::vector<Json> events = events_of(engine, body);
  ASSERT_EQ(events.size(), kTokens);
  for (std::size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(events[i].at("aqua"), (Json{{"turn", 7}, {"position", 3 + i}})) << events[i];
}

}  // namespace
}  // namespace aqua::fleet::test
