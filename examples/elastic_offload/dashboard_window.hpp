// SPDX-License-Identifier: Apache-2.0
// DashboardWindow shows a coordinator's dashboard at a port of this machine's own address. It
// passes on what is asked by GET and nothing else: who reaches the port may look, and give no
// order.
//
// Threads: make and destroy it on one; it serves on its own. Make it after StopSignals.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace aqua::example {

class DashboardWindow {
 public:
  // Shows the dashboard of the coordinator on the Unix socket `coordinator`. Throws Failure where
  // the port is taken.
  DashboardWindow(std::uint16_t port, const std::filesystem::path& coordinator);
  ~DashboardWindow();
  DashboardWindow(const DashboardWindow&) = delete;
  DashboardWindow& operator=(const DashboardWindow&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::example
