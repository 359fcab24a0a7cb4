// SPDX-License-Identifier: Apache-2.0
// What somebody in etcd's place may answer, and what may stand there as a group: never a fault of
// ours, what is taken for a row is what base64 says, and a group that is taken is one that a book
// may have. The first byte chooses what was asked.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "coordinator/etcd/base64.hpp"
#include "coordinator/etcd/messages.hpp"
#include "groups/book.hpp"
#include "wire/groups.hpp"

namespace {

using namespace aqua::coordinator;

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 7) {
    case 6:
      if (auto stored = aqua::wire::decode<aqua::wire::StoredGroup>(body); stored.ok()) {
        const auto book = aqua::groups::Book::of({}, {std::move(stored->group)});
        check(!book.ok() || book->check_invariants().empty());
      }
      break;
    case 0:
      if (const auto rows = etcd::parse_rows(body); rows.ok())
        check(std::ranges::is_sorted(rows->rows, {}, &etcd::Row::key));
      break;
    case 1:
      (void)etcd::parse_outcome(body);
      break;
    case 2:
      if (const auto lease = etcd::parse_grant(body); lease.ok()) check(*lease != 0);
      break;
    case 3:
      (void)etcd::parse_kept(body);
      (void)etcd::is_cancelled_watch(body);
      break;
    case 4:
      if (const auto token = etcd::parse_token(body); token.ok())
        check(!token->empty() && token->find_first_of("\r\n") == token->npos);
      break;
    default:
      (void)etcd::parse_refusal(400 + data[0], body);
      if (const auto bytes = etcd::from_base64(body)) check(etcd::to_base64(*bytes) == body);
  }
  return 0;
}
