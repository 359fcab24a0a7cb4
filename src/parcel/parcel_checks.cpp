// SPDX-License-Identifier: Apache-2.0
// What names and notes of parcels may be.
#include "base/concat.hpp"
#include "base/keeper/limits.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "parcel/parcel_book.hpp"

namespace aqua {

Result<void> check_role(const char* call, const std::string& role) {
  constexpr std::size_t kLongest = keeper_wire::kLongestName;
  if (!role.empty() && role.size() <= kLongest && is_plain(role)) return {};
  return Error{Code::invalid_argument,
               concat(call, ": a role of ", role.size(), " bytes, which has to be 1 to ", kLongest,
                      " of printable ASCII")};
}

Result<void> check_room(const std::string& from, std::uint64_t parcels) {
  AQUA_TRY(check_role("admit", from));
  if (parcels <= ParcelBook::kMostParcels) return {};
  return Error{Code::invalid_argument, concat("admit: room for ", parcels, " parcels, of at most ",
                                              ParcelBook::kMostParcels)};
}

Result<void> check_id(const char* call, const std::string& id) {
  if (!id.empty() && id.size() <= ParcelBook::kLongestId && is_plain(id)) return {};
  return Error{Code::invalid_argument,
               concat(call, ": an id of ", id.size(), " bytes, which has to be 1 to ",
                      ParcelBook::kLongestId, " of printable ASCII")};
}

Result<void> check_parcel(const char* call, const Parcel& parcel) {
  AQUA_TRY(check_id(call, parcel.id));
  if (parcel.note.size() <= ParcelBook::kLongestNote) return {};
  return Error{Code::invalid_argument,
               concat(call, ": ", parcel.id, ": a note of ", parcel.note.size(),
                      " bytes, of at most ", ParcelBook::kLongestNote)};
}

}  // namespace aqua
