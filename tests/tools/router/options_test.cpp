// SPDX-License-Identifier: Apache-2.0
#include "tools/router/options.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "tests/base/code_of.hpp"

namespace aqua::router {
namespace {

std::string listen_at(std::string_view where, std::string_view more = "--json") {
  const std::array<std::string_view, 5> arguments{"--listen", where, "--engine",
                                                  "a=http://127.0.0.1:1", more};
  return code_of(parse_router_options(arguments));
}

// A name that only looks like an address of this machine leads wherever its name server says.
TEST(RouterOptions, WithoutTokensItListensAtLoopbackUnlessToldOtherwise) {
  for (const char* here : {"localhost:0", "127.0.0.1:8080", "127.1.2.3:0", "[::1]:0"})
    EXPECT_EQ(listen_at(here), "ok") << here;
  for (const char* elsewhere : {"0.0.0.0:0", "[::]:0", "10.0.0.1:80", "127.evil.example:0"}) {
    EXPECT_EQ(listen_at(elsewhere), "invalid_argument") << elsewhere;
    EXPECT_EQ(listen_at(elsewhere, "--open"), "ok") << elsewhere;
  }
}

TEST(RouterOptions, TheCoordinatorsPageIsAnAddressThatBrowsersOnlyFollow) {
  const auto with_page = [](std::string_view page) {
    const std::array<std::string_view, 4> arguments{"--engine", "a=http://127.0.0.1:1",
                                                    "--coordinator-page", page};
    return code_of(parse_router_options(arguments));
  };
  for (const char* page : {"http://127.0.0.1:7070/", "https://gpu-1.example/aqua/"})
    EXPECT_EQ(with_page(page), "ok") << page;
  for (const char* page : {"javascript:alert(1)", "127.0.0.1:7070", "unix:/run/aqua.sock"})
    EXPECT_EQ(with_page(page), "invalid_argument") << page;
}

}  // namespace
}  // namespace aqua::router
