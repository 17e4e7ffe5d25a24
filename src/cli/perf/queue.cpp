// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Messages in flight in one direction of one communicator.
#include "src/cli/perf/queue.h"

#include <fmt/format.h>

#include "src/cli/common/failure.h"

namespace fabrail::cli::perf {

bool RequestQueue::add(void* request, const Piece& piece) {
  if (request == nullptr) return false;
  requests_[posted_ % requests_.size()] = request;
  pieces_[posted_ % requests_.size()] = piece;
  ++posted_;
  return true;
}

bool RequestQueue::step(Plugin& plugin, const char* direction) {
  if (idle()) return false;
  const size_t slot = done_ % requests_.size();
  const std::optional<size_t> bytes = plugin.test(requests_[slot]);
  if (!bytes) return false;
  if (*bytes != pieces_[slot].bytes) {
    throw Failure(
        fmt::format("the plugin says that it {} {} bytes of message {}, which has {}: "
                    "messages were cut or mixed up, report it with -v",
                    direction, *bytes, done_, pieces_[slot].bytes));
  }
  ++done_;
  return true;
}

bool SendQueue::post(const Piece& piece) {
  if (!has_room()) return false;
  return add(plugin_.isend(comm_, piece.address, piece.bytes, tag_, piece.mhandle), piece);
}

bool RecvQueue::post(const Piece& piece) {
  if (!has_room()) return false;
  return add(plugin_.irecv(comm_, piece.address, piece.bytes, tag_, piece.mhandle), piece);
}

}  // namespace fabrail::cli::perf
