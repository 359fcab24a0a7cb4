// SPDX-License-Identifier: Apache-2.0
#include "base/text/control_characters.hpp"

#include <gtest/gtest.h>

#include <string>

namespace aqua {
namespace {

TEST(ControlCharacters, ThatCommandATerminalALogOrAReaderAreFoundWithTheirLength) {
  for (const std::string character :
       {"\x1b", "\n", "\x7f", "\xc2\x80", "\xc2\x9b", "\xc2\x9f", "\xd8\x9c", "\xe2\x80\x8e",
        "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xae",
        "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
    EXPECT_EQ(control_length(character + "x"), character.size()) << character;
    EXPECT_EQ(control_in("gpu " + character), 4U) << character;
  }
  EXPECT_EQ(control_length(std::string_view("\0", 1)), 1U);
}

TEST(ControlCharacters, AreNoneInTextOfAnyLanguage) {
  for (const std::string text :
       {"gpu-7 \"a\"", "gr\xc3\xbc\xc3\x9f", "\xc2\xa0", "\xe2\x80\xa6", "\xe2\x80\xaf",
        "\xe2\x82\xac", "\xe2\x81\xa5", "\xd8\xa7\xd9\x84", "\xe6\x97\xa5", "\xf0\x9f\x98\x80",
        "\xe2", "\xe2\x80", "\xc2", ""}) {
    EXPECT_EQ(control_in(text), std::string_view::npos) << text;
  }
}

}  // namespace
}  // namespace aqua
