// SPDX-License-Identifier: Apache-2.0
// CopyCurves sees to it that the Mover goes by curves of this machine: those of the cache
// file where it is good; else the built-in ones, until a background thread has measured.
//
// Threads: one; measuring has its own. stop() waits for one short transfer at most.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "aqua/runtime.hpp"
#include "device/device.hpp"
#include "transfer/transfer.hpp"

namespace aqua::runtime {

class CopyCurves {
 public:
  using Log = std::function<void(LogLevel, const std::string&)>;

  // Reads the file; a bad one is logged and ignored. Everything must outlive this object.
  // `directory` empty: no file is read or written.
  CopyCurves(device::Device& device, transfer::Mover& mover, std::string directory, Log log);
  ~CopyCurves() { stop(); }
  CopyCurves(const CopyCurves&) = delete;
  CopyCurves& operator=(const CopyCurves&) = delete;

  // Starts measuring, once, unless the file had curves. Never waits.
  void measure();
  void stop();

 private:
  void run();

  device::Device& device_;
  transfer::Mover& mover_;
  const std::string directory_;
  const Log log_;
  bool known_ = false;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace aqua::runtime
