// SPDX-License-Identifier: Apache-2.0
#include "json_lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "must.hpp"

namespace aqua::example {

LineReader::LineReader(int fd) : fd_(fd) {
  (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

std::vector<std::string> LineReader::read(std::chrono::milliseconds patience) {
  pollfd waiting{fd_, POLLIN, 0};
  if (!ended_ && patience.count() > 0) {
    (void)::poll(&waiting, 1, static_cast<int>(patience.count()));
  }
  std::array<char, 65'536> buffer{};
  while (!ended_) {
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    ended_ = got <= 0;
    if (got > 0) partial_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n', begin)) {
    lines.push_back(partial_.substr(begin, end - begin));
    begin = end + 1;
  }
  partial_.erase(0, begin);
  return lines;
}

nlohmann::json parse_line(std::string_view line) {
  auto message = nlohmann::json::parse(line, nullptr, false);
  if (!message.is_object()) throw Failure("not a JSON object: " + std::string(line.substr(0, 200)));
  return message;
}

bool write_line(int fd, const nlohmann::json& message, const std::function<void()>& while_full) {
  constexpr int kOneWait = 100;  // milliseconds
  const std::string line = message.dump() + "\n";
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t put = ::write(fd, line.data() + done, line.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      pollfd full{fd, POLLOUT, 0};
      if (::poll(&full, 1, kOneWait) == 0 && while_full) while_full();
      continue;
    }
    if (put < 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

}  // namespace aqua::example
