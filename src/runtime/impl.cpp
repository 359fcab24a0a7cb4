#include "runtime/impl.hpp"

#include <algorithm>
#include <cstdio>

#include "base/concat.hpp"
#include "base/stale_sockets.hpp"
#include "base/trace_range.hpp"
#include "base/try.hpp"
#include "device/probe.hpp"
#include "runtime/options.hpp"

namespace aqua {

using runtime::Clock;

Runtime::Impl::Impl(RuntimeOptions options, std::unique_ptr<device::Device> device)
    : options_(std::move(options)),
      device_(std::move(device)),
      callbacks_(options_.callbacks_in_tick),
      office_{loop_,
              errands_,
              returns_,
              callbacks_,
              nullptr,
              [this](LogLevel level, const std::string& text) { log(level, text); },
              [this](BudgetReason reason) { budget_changed(reason); }},
      lender_(office_, *device_) {}

Result<std::unique_ptr<Runtime::Impl>> Runtime::Impl::open(const RuntimeOptions& requested) {
  AQUA_ASSIGN(RuntimeOptions options, runtime::resolve(requested));
  AQUA_ASSIGN(auto device, runtime::open_device(options));
  std::unique_ptr<Impl> impl(new Impl(std::move(options), std::move(device)));
  AQUA_TRY(impl->open_memory());
  AQUA_TRY(impl->open_coordinator());
  Impl& self = *impl;
  impl->loop_.start([&self](Clock::time_point now) { return self.step(now); });
  impl->budget_changed(BudgetReason::opened);
  return impl;
}

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
    // Twice the most that is leased, so that holes between slabs of several sizes do no harm.
    AQUA_ASSIGN(importer_, lending::Importer::open(
                               *device_, id_, 2 * options_.max_peer_bytes + options_.slab_bytes));
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
  open_curves();
  lending::ExporterOptions exporting;
  remove_stale_sockets(options_.socket_directory, "x-");
  exporting.socket_path = concat(options_.socket_directory, "/x-", to_string(id_).substr(0, 16));
  exporting.arena_bytes = device_->info().total_bytes + options_.slab_bytes;
  AQUA_ASSIGN(exporter_,
              lending::Exporter::open(*device_, exporting, [this](const lending::SlabStatus& slab) {
                lender_.on_freed(slab);
              }));
  lender_.attach(*exporter_);
  return {};
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
        office_,
        runtime::Borrower::Parts{*importer_, *peer_, *table_, *migrator_, options_.callbacks},
        runtime::BorrowerOptions{options_.max_peer_bytes, host_->bytes()});
  }
  if (options_.coordinator == "none") return {};
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
  office_.coordinator = coordinator_.get();
  return {};
}

Runtime::Impl::~Impl() {
  if (::getpid() != process_) {
    // A forked child has none of our threads, and must not end what is the parent's.
    (void)coordinator_.release();
    (void)exporter_.release();
    (void)mover_.release();  // would wait for work that nothing here can finish
    (void)migrator_.release();
    return;
  }
  if (curves_ != nullptr) curves_->stop();
  loop_.stop();
  errands_.stop();
  returns_.stop();
  callbacks_.stop();
  if (borrower_ != nullptr) borrower_->close();
  if (exporter_ != nullptr) lender_.close();
  if (coordinator_ != nullptr) coordinator_->close();
}

Clock::time_point Runtime::Impl::step(Clock::time_point now) {
  std::vector<std::shared_ptr<runtime::PoolShare>> pools;
  {
    const MutexLock lock(mu_);
    std::erase_if(pools_, [](const auto& pool) { return pool.expired(); });
    for (const auto& weak : pools_) {
      if (auto pool = weak.lock()) pools.push_back(std::move(pool));
    }
  }
  auto next = lender_.step(now);
  mover_->sweep();
  if (mover_->in_flight() > 0) next = std::min(next, now + std::chrono::milliseconds(100));
  for (const auto& pool : pools) {
    if (pool->step())
      next = std::min(next, now + std::chrono::milliseconds(1));  // device events wake nobody
  }
  return borrower_ == nullptr ? next : std::min(next, borrower_->step(now));
}

std::shared_ptr<runtime::PoolShare> Runtime::Impl::share(
    std::unique_ptr<lending::ElasticPool> pool) {
  auto shared = std::make_shared<runtime::PoolShare>(std::move(pool), lender_, office_);
  const MutexLock lock(mu_);
  pools_.push_back(shared);
  return shared;
}

Result<void> Runtime::Impl::check_process() const {
  if (::getpid() == process_) return {};
  return Error{Code::failed_precondition,
               "this runtime belongs to the parent process; open one after fork()"};
}

Result<Ticket> Runtime::Impl::move(const Layout& layout, BlockList blocks, AquaTensor& tensor,
                                   Stream stream, std::size_t offset,
                                   transfer::Direction direction) {
  const TraceRange range(direction == transfer::Direction::offload ? "aqua offload" : "aqua fetch");
  AQUA_TRY(check_process());
  const std::size_t bytes = layout.packed_bytes(blocks.size());
  const Access access = direction == transfer::Direction::offload ? Access::write : Access::read;
  // An empty list moves nothing; the pin then only checks the offset.
  AQUA_ASSIGN(Pin pin, tensor.pin(access, stream, {offset, std::max<std::size_t>(bytes, 1)}));
  AQUA_ASSIGN(auto transfer, mover_->prepare({.layout = &layout,
                                              .blocks = blocks,
                                              .tensor = pin.data(),
                                              .tensor_bytes = pin.bytes(),
                                              .direction = direction,
                                              .link = transfer::link_to(pin.tier()),
                                              .stream = stream}));
  Ticket ticket = transfer.ticket();
  if (auto posted = transfer.post(stream); !posted.ok()) {
    (void)ticket.wait();  // what was queued before the refusal is skipped; then the place is quiet
    return std::move(posted).error();
  }
  return ticket;  // and the pin is released: the posted work is its last use
}

Result<void> Runtime::Impl::lend(std::size_t bytes) {
  AQUA_TRY(check_process());
  std::vector<std::unique_ptr<device::Slab>> slabs;
  for (std::size_t done = 0; done + options_.slab_bytes <= bytes; done += options_.slab_bytes) {
    AQUA_ASSIGN(auto slab, device_->create_slab(options_.slab_bytes));
    slabs.push_back(std::move(slab));
  }
  if (slabs.empty()) {
    return Error{Code::invalid_argument,
                 concat("lend: ", bytes, " bytes are less than a slab of ", options_.slab_bytes)};
  }
  {
    const MutexLock lock(mu_);
    promised_bytes_ = 0;
  }
  lender_.lend(std::move(slabs),
               [](std::unique_ptr<device::Slab>) {});  // destroyed: the device's own again
  return {};
}

MemoryBudget Runtime::Impl::budget(BudgetReason reason) const {
  MemoryBudget budget;
  budget.reason = reason;
  budget.lent_bytes = lender_.lent_bytes();
  budget.peer_bytes = borrower_ != nullptr ? borrower_->leased_bytes() : 0;
  budget.host_bytes = host_->bytes();
  const MutexLock lock(mu_);
  const std::size_t total =
      engine_total_bytes_ > 0 ? engine_total_bytes_ : device_->info().total_bytes;
  budget.engine_bytes = total - std::min(total, budget.lent_bytes + promised_bytes_);
  return budget;
}

void Runtime::Impl::budget_changed(BudgetReason reason) {
  if (!options_.callbacks.on_budget) return;
  callbacks_.post([this, reason] { options_.callbacks.on_budget(budget(reason)); });
}

Result<void> Runtime::Impl::set_profile(const LoadProfile& profile,
                                        const ProducerOptions& options) {
  AQUA_ASSIGN(const ProducerPolicy policy, ProducerPolicy::create(profile, options));
  const MutexLock lock(mu_);
  policy_ = policy;
  engine_total_bytes_ = profile.kv_bytes_total;
  return {};
}

Decision Runtime::Impl::decide(const LoadReport& report, Result<void>& outcome) {
  constexpr std::chrono::seconds kPromise{10};  // for the engine to free memory and call lend()
  const auto now = Clock::now();
  const std::size_t lent = lender_.lent_bytes();
  const MutexLock lock(mu_);
  if (!policy_) return {};
  if (now > promised_until_) promised_bytes_ = 0;
  const bool waiting = decided_reclaim_ != nullptr && !decided_reclaim_->done();
  const std::size_t homeward = waiting ? decided_reclaim_->missing_bytes() : 0;
  policy_->set_lent_bytes(lent - std::min(lent, homeward) + promised_bytes_);
  auto decision = policy_->observe(report, now);
  if (!decision.ok()) {
    outcome = std::move(decision).error();
    return {};
  }
  if (decision->action == ProducerAction::offer) {
    promised_bytes_ += decision->bytes;
    promised_until_ = now + kPromise;
  } else if (decision->action == ProducerAction::reclaim) {
    promised_bytes_ = 0;
  }
  return *decision;
}

Result<void> Runtime::Impl::report(const LoadReport& report) {
  AQUA_TRY(check_process());
  Result<void> outcome = validate(report);
  if (!outcome.ok()) return outcome;
  const Decision decision = decide(report, outcome);
  if (decision.action == ProducerAction::offer) budget_changed(BudgetReason::offered);
  if (decision.action == ProducerAction::reclaim) {
    auto reclaim = lender_.reclaim(decision.bytes, options_.reclaim_deadline);
    const MutexLock lock(mu_);
    decided_reclaim_ = std::move(reclaim);
  }
  return outcome;
}

void Runtime::Impl::log(LogLevel level, const std::string& text) const {
  if (options_.callbacks.on_log) return options_.callbacks.on_log(level, text);
  if (level != LogLevel::info)
    std::fprintf(stderr, "aqua[%s]: %s\n", options_.name.c_str(), text.c_str());
}

void Runtime::Impl::on_connected(const southbound::Session& session) {
  if (session.new_epoch) lender_.declare();
  loop_.post([this, session] {
    lender_.on_connected(session);
    if (borrower_ != nullptr) borrower_->on_connected();
  });
}

void Runtime::Impl::on_snapshot(const wire::Snapshot& snapshot) {
  loop_.post([this, snapshot] {
    lender_.on_snapshot(snapshot);
    if (borrower_ != nullptr) borrower_->on_snapshot(snapshot);
  });
}

void Runtime::Impl::on_events(std::span<const ledger::Event> events) {
  loop_.post([this, list = std::vector<ledger::Event>(events.begin(), events.end())] {
    for (const ledger::Event& event : list) {
      lender_.on_event(event);
      if (borrower_ != nullptr) borrower_->on_event(event);
    }
  });
}

void Runtime::Impl::on_disconnected(const Error& reason) {
  log(LogLevel::warning, concat("coordinator: ", reason.message, "; what is leased stays leased"));
  loop_.nudge();
}

RuntimeStatus Runtime::Impl::status() const {
  RuntimeStatus status;
  status.device = device_->info().name;
  if (coordinator_ != nullptr) {
    const auto connection = coordinator_->status();
    status.connected = connection.connected;
    status.last_error = connection.last_error;
  }
  const auto use = table_->use();
  status.local = {use.local.tensors, use.local.bytes, options_.local_bytes};
  status.peer = {use.peer.tensors, use.peer.bytes,
                 borrower_ != nullptr ? borrower_->leased_bytes() : 0};
  status.host = {use.host.tensors, use.host.bytes, host_->bytes()};
  status.lost_tensors = use.lost.tensors;
  status.lent_bytes = lender_.lent_bytes();
  for (const lending::SlabStatus& slab : exporter_->status()) {
    if (slab.custody == lending::Custody::held) status.held_bytes += slab.bytes;
  }
  if (borrower_ != nullptr) {
    const auto moved = borrower_->migrated();
    status.promotions = moved.promotions;
    status.evacuations = moved.evacuations;
    status.promoted_bytes = moved.promoted_bytes;
    status.evacuated_bytes = moved.evacuated_bytes;
    status.peer_fragmentation = peer_->stats().external_fragmentation();
  }
  return status;
}

}  // namespace aqua
