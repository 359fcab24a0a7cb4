// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/group_store.hpp"

#include <utility>

namespace aqua::coordinator {

Result<bool> LocalGroups::commit(const groups::Book& draft, const std::set<std::string>&) {
  groups::Book::Changes changes = draft.changes();
  if (changes.empty()) return true;  // of what is asked again after a restart
  WriteSet rows;
  rows.groups = std::move(changes.put);
  rows.groups_gone = std::move(changes.gone);
  const auto written = store_->commit(rows);
  if (written.ok()) return true;
  if (written.error().code == Code::aborted) on_fatal_(written.error());
  return written.error();
}

}  // namespace aqua::coordinator
