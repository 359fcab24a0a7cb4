// SPDX-License-Identifier: Apache-2.0
#include "coordinator/common/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/text/control_characters.hpp"
#include "tools/daemon/utc_text.hpp"

namespace aqua::coordinator {
namespace {

// The sinks format on the caller's thread before log() returns.
thread_local const Fields* fields_of_this_line = nullptr;

// The code point of a character of one to three bytes of UTF-8.
unsigned code_point(std::string_view character) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(character[at]); };
  if (character.size() == 1) return byte(0);
  if (character.size() == 2) return (byte(0) & 0x1fU) << 6 | (byte(1) & 0x3fU);
  return (byte(0) & 0x0fU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU);
}

// Control characters of `text` become \uXXXX. They lie inside of strings, in JSON too.
std::string without_controls(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = control_length(text);
    if (length == 0) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    const unsigned point = code_point(text.substr(0, length));
    out += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kHex[point >> shift & 15U];
    text.remove_prefix(length);
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size());
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return without_controls(quoted);
}

std::string as_text(const Field& field) {
  if (const auto* number = std::get_if<std::uint64_t>(&field.value)) return concat(*number);
  if (const auto* number = std::get_if<double>(&field.value)) return concat(*number);
  return std::get<std::string>(field.value);
}

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" =\"") != std::string_view::npos;
}

std::string text_line(const spdlog::details::log_msg& line) {
  const auto level = spdlog::level::to_string_view(line.level);
  std::string out =
      concat(daemon::utc_text(line.time), " ", std::string_view(level.data(), level.size()), " ",
             escaped({line.payload.data(), line.payload.size()}));
  if (fields_of_this_line != nullptr) {
    for (const Field& field : *fields_of_this_line) {
      const std::string text = as_text(field);
      const std::string_view quote = needs_quotes(text) ? "\"" : "";
      out += concat(" ", field.name, "=", quote, escaped(text), quote);
    }
  }
  return out;
}

std::string json_line(const spdlog::details::log_msg& line) {
  nlohmann::ordered_json out;
  const auto level = spdlog::level::to_string_view(line.level);
  out["time"] = daemon::utc_text(line.time);
  out["level"] = std::string_view(level.data(), level.size());
  out["message"] = std::string_view(line.payload.data(), line.payload.size());
  if (fields_of_this_line != nullptr) {
    for (const Field& field : *fields_of_this_line) {
      std::visit([&](const auto& value) { out[std::string(field.name)] = value; }, field.value);
    }
  }
  // Bytes that are not UTF-8 are replaced.
  return without_controls(
      out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      break;
  }
  return spdlog::level::warn;
}

class Formatter final : public spdlog::formatter {
 public:
  explicit Formatter(LogFormat format) : format_(format) {}
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& out) override {
    const std::string text = format_ == LogFormat::json ? json_line(line) : text_line(line);
    out.append(text.data(), text.data() + text.size());
    out.push_back('\n');
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<Formatter>(format_);
  }

 private:
  const LogFormat format_;
};

}  // namespace

void start_logging(LogFormat format, const std::string& level) {
  spdlog::drop("aqua-coordinator");  // of an earlier start, in a test
  auto logger = spdlog::stderr_logger_mt("aqua-coordinator");
  logger->set_formatter(std::make_unique<Formatter>(format));
  spdlog::set_default_logger(std::move(logger));
  spdlog::set_level(spdlog::level::from_str(level));
}

bool is_logged(LogLevel level) {
  return spdlog::should_log(spdlog_level(level));
}

void log(LogLevel level, std::string_view message, const Fields& fields) {
  if (!is_logged(level)) return;
  fields_of_this_line = &fields;
  // Never a format string: the message may hold braces.
  spdlog::log(spdlog_level(level), "{}", message);
  fields_of_this_line = nullptr;
}

}  // namespace aqua::coordinator
