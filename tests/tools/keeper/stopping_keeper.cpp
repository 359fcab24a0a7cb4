// SPDX-License-Identifier: Apache-2.0
// A keeper that stands still at a step of its own, for good: SOCKET STEP. It says "at STEP" there,
// the first time, and the thread that has come to it goes no further. Has what systemd passes.
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "base/step.hpp"
#include "tools/daemon/notify.hpp"
#include "tools/keeper/keeper.hpp"

namespace {

std::string_view stop_at;

void stand(const char* name) {
  if (name != stop_at) return;
  std::printf("at %s\n", name);
  std::fflush(stdout);
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  stop_at = argv[2];
  aqua::step_hook = stand;
  const auto keeper = aqua::keeper::Keeper::start(
      {.socket = argv[1]}, aqua::keeper::sort_out(aqua::daemon::take_descriptors()));
  if (!keeper.ok()) {
    std::fprintf(stderr, "%s\n", keeper.error().message.c_str());
    return 1;
  }
  std::printf("listening on %s\n", argv[1]);
  std::fflush(stdout);
  for (;;) ::pause();
}
