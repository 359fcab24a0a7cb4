// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/recorder.hpp"

#include <spdlog/spdlog.h>

#include "base/try.hpp"

namespace aqua::coordinator {

Result<Revision> Recorder::record(ledger::Ledger& ledger) {
  if (!ledger.has_dirty_rows() && unwritten_.empty()) return revision_;
  return write(ledger);
}

Result<void> Recorder::catch_up(ledger::Ledger& ledger) {
  if (!fault_) return {};
  AQUA_TRY(write(ledger));
  return {};
}

Result<Revision> Recorder::write(ledger::Ledger& ledger) {
  ledger::DirtyRows dirty = ledger.take_dirty_rows();
  unwritten_.clients.merge(dirty.clients);
  unwritten_.slabs.merge(dirty.slabs);
  unwritten_.reclaims.merge(dirty.reclaims);
  unwritten_.pairs.merge(dirty.pairs);
  Result<Revision> done = store_->commit(write_set(ledger, unwritten_));
  if (!done.ok()) {
    if (!fault_)
      spdlog::error("{}: no leases are granted until this is mended", done.error().message);
    fault_ = done.error();
    return done;
  }
  if (fault_) spdlog::warn("the ledger can be written again; nothing is missing");
  fault_.reset();
  unwritten_ = {};
  revision_ = *done;
  return done;
}

}  // namespace aqua::coordinator
