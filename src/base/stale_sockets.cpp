#include "base/stale_sockets.hpp"

#include <chrono>
#include <filesystem>

#include "base/unix_socket.hpp"

namespace aqua {

void remove_stale_sockets(const std::string& directory, std::string_view prefix) {
  namespace fs = std::filesystem;
  const auto old = fs::file_time_type::clock::now() - std::chrono::minutes(1);
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const std::string path = it->path().string();
    if (!it->path().filename().string().starts_with(prefix)) continue;
    if (!it->is_socket(ignored) || it->last_write_time(ignored) > old || ignored) continue;
    const auto probe = connect_seqpacket(path, std::chrono::milliseconds(100));
    if (!probe.ok() && probe.error().code == Code::unavailable) fs::remove(path, ignored);
  }
}

}  // namespace aqua
