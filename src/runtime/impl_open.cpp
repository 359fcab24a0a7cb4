// SPDX-License-Identifier: Apache-2.0
// How a runtime comes up: its memory, its copy curves, its coordinator.
#include "base/concat.hpp"
#include "base/socket/stale_sockets.hpp"
#include "base/try.hpp"
#include "device/probe.hpp"
#include "runtime/impl.hpp"
#include "runtime/options.hpp"

namespace aqua {

Result<void> Runtime::Impl::open_memory() {
  AQUA_ASSIGN(host_, runtime::HostTier::open(options_.host_bytes, device_->info().numa_node));
  if (device_->info().kind == device::Kind::cuda) {
    pinning_ = std::make_unique<runtime::HostPinning>(
        *device_, host_->pieces(), [this](const std::string& why) { log(LogLevel::warning, why); });
  }
  if (options_.local_bytes > 0) {
    AQUA_ASSIGN(local_, runtime::LocalTier::open(*device_, options_.local_bytes));
  }
  if (options_.max_peer_bytes > 0) {
    // Twice the most that is leased, so that holes between slabs of several sizes do no harm; whole
    // slabs, whatever bytes a profile or an engine asks for.
    const std::size_t slabs = 2 * options_.max_peer_bytes / options_.slab_bytes + 2;
    AQUA_ASSIGN(importer_, lending::Importer::open(*device_, id_, slabs * options_.slab_bytes));
    AQUA_ASSIGN(peer_,
                tensor::Space::create(Tier::peer, importer_->base(), importer_->arena_bytes()));
  }
  table_ = std::make_unique<tensor::TensorTable>(
      *device_,
      tensor::TableSpaces{&host_->space(), peer_.get(),
                          local_ != nullptr ? &local_->space() : nullptr},
      [this] { loop_.nudge(); });
  AQUA_ASSIGN(migrator_, tensor::Migrator::create(*device_));
  mover_ = std::make_unique<transfer::Mover>(*device_);
  AQUA_TRY(tell_missing_kernels());
  open_curves();
  lending::ExporterOptions exporting;
  remove_stale_sockets(options_.socket_directory, "x-");
  exporting.socket_path = concat(options_.socket_directory, "/x-", to_string(id_).substr(0, 16));
  exporting.arena_bytes = device_->info().total_bytes + options_.slab_bytes;
  exporting.warn = [this](const std::string& text) { log(LogLevel::warning, text); };
  AQUA_ASSIGN(exporter_,
              lending::Exporter::open(*device_, exporting, [this](const lending::SlabStatus& slab) {
                lender_.on_freed(slab);
              }));
  lender_.attach(*exporter_);
  return {};
}

Result<void> Runtime::Impl::tell_missing_kernels() {
  if (device_->info().kind != device::Kind::cuda) return {};
  // Asks of a fresh stream, since the engine may be capturing its own into a graph.
  AQUA_ASSIGN(auto stream, device::OwnStream::create(*device_));
  if (!device_->supports(device::CopyMethod::kernel, *stream)) {
    log(LogLevel::warning,
        concat(device_->info().name, ": this build has no kernels for this GPU; ",
               "small blocks go by its copy engines, slower"));
  }
  return stream.end();
}

void Runtime::Impl::open_curves() {
  const bool emulated = device_->info().kind == device::Kind::emulated;
  if (options_.curve_directory == "off" || (emulated && !options_.emulated.calibrate)) return;
  curves_ = std::make_unique<runtime::CopyCurves>(
      *device_, *mover_, options_.curve_directory,
      [this](LogLevel level, const std::string& text) { log(level, text); });
  curves_->measure();
}

Result<void> Runtime::Impl::open_coordinator() {
  if (importer_ != nullptr) {
    borrower_ = std::make_unique<runtime::Borrower>(
        services_,
        runtime::Borrower::Parts{*importer_, *peer_, *table_, *migrator_, options_.callbacks},
        runtime::BorrowerOptions{options_.max_peer_bytes, host_->bytes()});
  }
  if (options_.coordinator == "none") {
    if (options_.max_peer_bytes > 0) {
      log(LogLevel::warning, concat("max_peer_bytes ", options_.max_peer_bytes,
                                    ", but nothing is borrowed: ", runtime::kNoCoordinator));
    }
    return {};
  }
  const auto shared = device::probe_sharing(*device_);
  if (!shared.ok() && shared.error().code != Code::resource_exhausted) {
    // A side that cannot share must not be paired with anybody; the host tier still serves.
    log(LogLevel::error, concat(device_->info().name, ": nothing is lent or borrowed, since its ",
                                "memory cannot be shared here: ", shared.error().message));
    return {};
  }
  southbound::Options options;
  options.coordinator = options_.coordinator;
  options.info.id = id_;
  options.info.name = options_.name;
  options.info.device = device_->info().uuid;
  options.info.device_name = device_->info().name;
  options.info.domain = options_.domain;
  options.info.exchange = exporter_->socket_path();
  options.info.producer = true;
  options.info.consumer = options_.max_peer_bytes > 0;
  AQUA_ASSIGN(coordinator_, southbound::Client::open(std::move(options), *this));
  services_.coordinator = coordinator_.get();
  return {};
}

}  // namespace aqua
