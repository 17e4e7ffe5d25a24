// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/cts_window.h"

namespace fabrail::transport {

CtsWindow::Insert CtsWindow::insert(const ClearToSend& message) {
  if (message.sequence - head_ >= kWindow + kMaxEager) return Insert::kInvalid;
  Receive& entry = entries_[place_of(message.sequence)];
  if (entry.present) return Insert::kInvalid;
  entry = {.offset = message.offset,
           .region = message.region,
           .length = message.length,
           .tag = message.tag,
           .group_size = message.group_size,
           .group_index = message.group_index,
           .present = true};
  if (!head_known_) settle();
  return Insert::kTaken;
}

// A group is known when all its receives are.
bool CtsWindow::group_known() const {
  const Receive& first = entries_[place_of(head_)];
  if (!first.present || first.group_index != 0) return false;
  const std::uint32_t size = first.group_size;
  for (std::uint32_t index = 0; index < size; ++index) {
    const Receive& entry = entries_[place_of(head_ + index)];
    if (!entry.present) return false;
    if (entry.group_index != index || entry.group_size != size) return false;
  }
  return true;
}

const CtsWindow::Receive* CtsWindow::match(std::int32_t tag) const {
  if (!head_known_) return nullptr;
  for (std::uint32_t index = 0; index < head_size_; ++index) {
    const Receive& entry = entries_[place_of(head_ + index)];
    if (entry.tag == tag && (used_ & (1u << index)) == 0) return &entry;
  }
  return nullptr;
}

void CtsWindow::consume(const Receive& receive) {
  mark_used(receive.group_index);
  if (!head_known_) settle();
}

void CtsWindow::mark_used(std::uint32_t group_index) {
  used_ |= 1u << group_index;
  if (used_ == (1u << head_size_) - 1) advance();
}

void CtsWindow::advance() {
  for (std::uint32_t index = 0; index < head_size_; ++index)
    entries_[place_of(head_ + index)].present = false;
  head_ += head_size_;
  head_size_ = 0;
  used_ = 0;
  head_known_ = false;
}

void CtsWindow::note_eager(std::int32_t tag, std::uint32_t bytes) {
  eager_[eager_count_++] = {.tag = tag, .bytes = bytes};
}

// Makes the next group the head as soon as it is known, and gives it the eager messages that belong
// to it; a group that they fill makes room for the next.
void CtsWindow::settle() {
  while (!head_known_ && group_known()) {
    head_known_ = true;
    head_size_ = entries_[place_of(head_)].group_size;
    place_eager();
  }
}

void CtsWindow::place_eager() {
  std::uint32_t index = 0;
  while (head_known_ && index < eager_count_) {
    if (!place_one(index)) ++index;
  }
}

bool CtsWindow::place_one(std::uint32_t index) {
  const Receive* receive = match(eager_[index].tag);
  if (receive == nullptr) return false;
  if (eager_[index].bytes > receive->length && !oversize_) {
    oversize_ = Refuse{.message_bytes = eager_[index].bytes, .receive_bytes = receive->length};
  }
  drop_eager(index);
  mark_used(receive->group_index);
  return true;
}

void CtsWindow::drop_eager(std::uint32_t index) {
  for (std::uint32_t i = index + 1; i < eager_count_; ++i) eager_[i - 1] = eager_[i];
  --eager_count_;
}

}  // namespace fabrail::transport
