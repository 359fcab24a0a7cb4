// SPDX-License-Identifier: Apache-2.0
// A keeper whose disk stands still in the middle of a call, for good: SOCKET DISK CALL. The file
// DISK.stands is there from then on. Everything else of it goes on.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "tools/keeper/keeper.hpp"

namespace {

using namespace aqua;
using namespace aqua::keeper;

// Calls that change something are counted; of a write that stands still half is written.
class StandingDirectory final : public LogDirectory {
 public:
  StandingDirectory(std::unique_ptr<LogDirectory> inner, std::string path, std::uint64_t stand_at)
      : inner_(std::move(inner)), path_(std::move(path)), stand_at_(stand_at) {}

  Result<std::vector<Entry>> list() override { return inner_->list(); }
  Result<void> create(LogFile file) override { return before(inner_->create(file)); }
  Result<void> remove(LogFile file) override { return before(inner_->remove(file)); }
  Result<void> write(LogFile file, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    if (++calls_ == stand_at_) {
      (void)inner_->write(file, offset, bytes.first(bytes.size() / 2)).ok();
      stand();
    }
    return inner_->write(file, offset, bytes);
  }
  Result<void> sync(LogFile file) override {
    if (++calls_ == stand_at_) stand();
    return inner_->sync(file);
  }
  Result<void> truncate(LogFile file, std::uint64_t bytes) override {
    return before(inner_->truncate(file, bytes));
  }
  void discard(LogFile file, std::uint64_t offset, std::uint64_t bytes) override {
    inner_->discard(file, offset, bytes);
    if (++calls_ == stand_at_) stand();
  }
  Result<void> read(LogFile file, std::uint64_t offset, std::span<std::byte> into) override {
    return inner_->read(file, offset, into);
  }

 private:
  // It has been done, and nobody hears of it.
  Result<void> before(Result<void> outcome) {
    if (++calls_ == stand_at_) stand();
    return outcome;
  }
  [[noreturn]] void stand() const {
    const UniqueFd told(::open((path_ + ".stands").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (;;) ::pause();
  }

  const std::unique_ptr<LogDirectory> inner_;
  const std::string path_;
  const std::uint64_t stand_at_;
  std::uint64_t calls_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::uint64_t stand_at = std::strtoull(argv[3], nullptr, 10);
  KeeperOptions options{.socket = argv[1]};
  options.last_segment = std::random_device{}();
  options.disk = argv[2];
  options.disk_quota = std::uint64_t{64} << 20;
  options.open_disk = [&](const std::string& path) -> Result<std::unique_ptr<LogDirectory>> {
    AQUA_ASSIGN(auto inner, open_log_directory(path));
    return std::unique_ptr<LogDirectory>(
        std::make_unique<StandingDirectory>(std::move(inner), path, stand_at));
  };
  const auto keeper = Keeper::start(options);
  if (!keeper.ok()) {
    std::fprintf(stderr, "%s\n", keeper.error().message.c_str());
    return 1;
  }
  std::printf("listening on %s\n", options.socket.c_str());
  std::fflush(stdout);
  for (;;) ::pause();
}
