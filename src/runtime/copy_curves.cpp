// SPDX-License-Identifier: Apache-2.0
#include "runtime/copy_curves.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include "base/concat.hpp"
#include "transfer/calibration/curve_store.hpp"
#include "transfer/calibration/far_memory.hpp"

namespace aqua::runtime {

CopyCurves::CopyCurves(device::Device& device, transfer::Mover& mover, std::string directory,
                       Log log)
    : device_(device), mover_(mover), directory_(std::move(directory)), log_(std::move(log)) {
  if (directory_.empty()) return;
  auto loaded = transfer::load_curves(directory_, transfer::key_of(device_.info()));
  if (!loaded.ok()) {
    const bool none = loaded.error().code == Code::not_found;
    log_(none ? LogLevel::info : LogLevel::warning,
         concat(loaded.error().message, none ? "" : "; ignored"));
    return;
  }
  auto curves = std::make_shared<transfer::CurveSet>(transfer::builtin_curves(device_.info().kind));
  curves->merge(*loaded);
  known_ = curves->measured(transfer::Link::host);
  mover_.use(std::move(curves));
}

void CopyCurves::measure() {
  if (known_ || thread_.joinable()) return;
  thread_ = std::thread([this] { run(); });
}

void CopyCurves::stop() {
  stopping_.store(true);
  if (thread_.joinable()) thread_.join();
}

void CopyCurves::run() {
  transfer::CalibrationOptions options;
  options.stop = [this] { return stopping_.load(); };
  const auto measured = transfer::calibrate_links(device_, nullptr, options);
  if (stopping_.load()) return;
  if (!measured.ok()) {
    log_(LogLevel::warning,
         concat("copy curves: ", measured.error().message, "; the built-in ones serve"));
    return;
  }
  auto curves = std::make_shared<transfer::CurveSet>(transfer::builtin_curves(device_.info().kind));
  curves->merge(*measured);
  if (!directory_.empty()) {
    const auto key = transfer::key_of(device_.info());
    if (auto saved = transfer::save_curves(directory_, key, *curves); !saved.ok()) {
      log_(LogLevel::warning, concat(saved.error().message, "; not kept"));
    }
  }
  mover_.use(std::move(curves));
  log_(LogLevel::info, "copy curves: measured");
}

}  // namespace aqua::runtime
