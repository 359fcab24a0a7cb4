// SPDX-License-Identifier: Apache-2.0
// A strict reader of Prometheus' text exposition format, for tests: every sample has a TYPE and
// a HELP before it, names and labels are well formed, nothing is there twice, and histograms add
// up. What it does not accept is a test failure.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace aqua::testing {

class Exposition {
 public:
  explicit Exposition(const std::string& text) {
    EXPECT_TRUE(text.ends_with("\n"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
    check_histograms();
  }

  // The value of `name{labels}` as written; a failure when it is not there.
  double operator[](const std::string& sample) const {
    const auto found = values_.find(sample);
    EXPECT_NE(found, values_.end()) << sample;
    return found == values_.end() ? -1 : found->second;
  }
  [[nodiscard]] bool has(const std::string& sample) const { return values_.contains(sample); }
  [[nodiscard]] const std::map<std::string, double>& values() const { return values_; }
  [[nodiscard]] const std::map<std::string, std::string>& types() const { return types_; }

 private:
  void read(const std::string& line) {
    static const std::regex kMeta(R"(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))");
    static const std::regex kSample(
        R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\.)*",?)+\})? (\S+))re");
    std::smatch match;
    if (std::regex_match(line, match, kMeta)) {
      if (match[1] == "HELP") {
        EXPECT_TRUE(helped_.insert(match[2]).second) << "HELP twice: " << line;
      } else {
        EXPECT_TRUE(types_.emplace(match[2], match[3]).second) << "TYPE twice: " << line;
      }
      return;
    }
    ASSERT_TRUE(std::regex_match(line, match, kSample)) << line;
    const std::string text = match[5];
    double value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    EXPECT_TRUE(fault == std::errc{} && end == text.data() + text.size()) << line;
    EXPECT_TRUE(values_.emplace(match[1].str() + match[2].str(), value).second) << line;
    const std::string family = family_of(match[1]);
    EXPECT_TRUE(types_.contains(family)) << "no TYPE before " << line;
    EXPECT_TRUE(helped_.contains(family)) << "no HELP before " << line;
    if (types_[family] == "counter") {
      EXPECT_TRUE(family.ends_with("_total")) << family;
      EXPECT_GE(value, 0) << line;
    }
  }

  std::string family_of(const std::string& name) const {
    for (const std::string ending : {"_bucket", "_sum", "_count"}) {
      if (!name.ends_with(ending)) continue;
      const std::string base = name.substr(0, name.size() - ending.size());
      if (const auto type = types_.find(base); type != types_.end() && type->second == "histogram")
        return base;
    }
    return name;
  }

  // The +Inf bucket is the count.
  void check_histograms() const {
    for (const auto& [name, type] : types_) {
      if (type != "histogram") continue;
      for (const auto& [sample, value] : values_) {
        const std::string count = name + "_count";
        if (!sample.starts_with(count)) continue;
        const std::string labels = sample.substr(count.size());
        const std::string inside = labels.empty() ? "" : labels.substr(1, labels.size() - 2) + ",";
        EXPECT_EQ((*this)[name + "_bucket{" + inside + "le=\"+Inf\"}"], value) << sample;
      }
    }
  }

  std::map<std::string, double> values_;
  std::map<std::string, std::string> types_;
  std::set<std::string> helped_;
};

}  // namespace aqua::testing
