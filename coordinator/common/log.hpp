// SPDX-License-Identifier: Apache-2.0
// The daemon's log on stderr: a message and named values, as text for people or as one JSON
// object a line for machines. spdlog's own calls work too; they have no named values.
//
//   2026-01-31T12:00:00.123Z info slabs leased producer=5f…e2 slabs=3 bytes=6291456
//   {"time":"2026-01-31T12:00:00.123Z","level":"info","message":"slabs leased","slabs":3,…}
//
// Text is escaped in both, so that no value can begin a line of its own. Never pass a secret.
//
// Threads: log() may be called concurrently, after start_logging().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace aqua::coordinator {

enum class LogFormat { text, json };
enum class LogLevel { debug, info, warn };

struct Field {
  std::string_view name;
  std::variant<std::string, std::uint64_t, double> value;
};
using Fields = std::vector<Field>;

// Makes the default logger. `level` is one of spdlog's names.
void start_logging(LogFormat format, const std::string& level);

void log(LogLevel level, std::string_view message, const Fields& fields);
// False where log() would write nothing, so that its fields need not be made.
[[nodiscard]] bool is_logged(LogLevel level);

}  // namespace aqua::coordinator
