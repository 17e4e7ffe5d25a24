// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What crosses the network besides payload: control messages, the immediate data of a write, and
// the handle of a listener. Pure values: encoders and checked decoders, no libfabric.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/slot_map.h"

namespace fabrail::transport {

/// Both sides must have the same; it changes whenever bytes change their meaning.
constexpr std::uint8_t kProtocolVersion = 2;

constexpr std::uint32_t kWindow = 256;    ///< receives that one communicator may have outstanding
constexpr std::uint32_t kMaxGroup = 8;    ///< receives in one irecv
constexpr std::uint32_t kMaxEager = 32;   ///< messages ahead of the announcement of their receive
constexpr std::uint32_t kMaxRails = 32;   ///< rails of one device, and stripes of one message
constexpr std::size_t kInlineBytes = 32;  ///< what EFA sends without reading memory: a CTS fits
constexpr std::size_t kMaxAddressBytes = 64;
constexpr std::size_t kMaxNameBytes = 64;  ///< of texts for people in a message
constexpr std::uint32_t kMaxMessageBytes = 1u << 30;

/// Bits of a communicator's key: 16384 at a time, each name back after 8 uses of its slot.
constexpr unsigned kCommIndexBits = 14;
constexpr unsigned kCommGenerationBits = 3;
constexpr unsigned kCommKeyBits = kCommIndexBits + kCommGenerationBits;

/// A communicator as its peer calls it: key, and a random cookie in the bits above, so that a
/// message meant for another process that had this address before finds nobody.
using CommName = std::uint32_t;
constexpr CommName make_comm_name(std::uint32_t key, std::uint32_t cookie) {
  return key | (cookie << kCommKeyBits);
}
constexpr std::uint32_t key_of(CommName name) { return name & ((1u << kCommKeyBits) - 1); }

/// The rail of a communicator's control and small messages, by the sender's name for it. Its cookie
/// sees to it that the first communicators of all processes do not share one.
constexpr std::uint32_t home_rail(CommName name, std::uint32_t rails) {
  return (key_of(name) + (name >> kCommKeyBits)) % rails;
}

// ------------------------------------------------------------------------------------------
// immediate data

/// What arrives with each stripe: which receive it belongs to and which part of it.
///
/// Bits 0-16 communicator | 17-24 slot of the receive | 25-29 stripe | 30 last stripe | 31 zero.
/// Where the provider carries 64 bits, the upper half is the stripe's length, which not every
/// provider reports.
struct Immediate {
  std::uint32_t comm = 0;
  std::uint32_t slot = 0;
  std::uint32_t stripe = 0;
  bool last = false;
};
static_assert(kCommKeyBits + 8 + 5 + 1 <= 32, "EFA carries 32 bits with a write");
static_assert(kWindow == 1u << 8 && kMaxRails == 1u << 5);

constexpr std::uint32_t encode(const Immediate& immediate) {
  return immediate.comm | (immediate.slot << 17) | (immediate.stripe << 25) |
         (static_cast<std::uint32_t>(immediate.last) << 30);
}
constexpr Immediate decode_immediate(std::uint32_t bits) {
  return {.comm = bits & 0x1ffff,
          .slot = (bits >> 17) & 0xff,
          .stripe = (bits >> 25) & 0x1f,
          .last = ((bits >> 30) & 1) != 0};
}

// -------------------------------------------------------------------------------------- control
// messages

enum class MessageKind : std::uint8_t {
  kConnectRequest = 1,  ///< connector -> listener
  kConnectReply,        ///< listener -> connector
  kClearToSend,         ///< receiver -> sender: one receive is posted
  kRegion,              ///< from who waits to who writes or reads: the keys of a memory region
  kEager,               ///< sender -> receiver: payload that needs no receive yet
  kEmpty,               ///< sender -> receiver: a message of no bytes for a posted receive
  kDelivery,            ///< sender -> receiver: payload of a small message for a posted receive
  kArrived,             ///< sender -> receiver: a stripe was written without immediate data
  kRefuse,              ///< either way: a message is longer than its receive
  kClose,               ///< either way: the communicator is closed
  kRevoke,              ///< receiver -> sender: stop writing, then say so
  kRevoked,             ///< sender -> receiver: nothing of mine is under way any more
  kOffer,               ///< sender -> receiver: the message for a receive lies here, read it
  kFetched,             ///< receiver -> sender: it was read
  kWithdraw,            ///< sender -> receiver: read nothing more of mine, then say so
  kWithdrawn,           ///< receiver -> sender: no read is under way any more
  kProbe,               ///< either way: nothing; its failure is the message
};

/// One receive is posted. `sequence` numbers receives of a communicator, group members one after
/// the other.
struct ClearToSend {
  static constexpr MessageKind kKind = MessageKind::kClearToSend;
  static constexpr std::size_t kBytes = 32;
  std::uint8_t group_size = 0;
  std::uint8_t group_index = 0;
  CommName comm = 0;
  std::uint32_t sequence = 0;
  std::int32_t tag = 0;
  std::uint32_t region = 0;
  std::uint32_t length = 0;
  std::uint64_t offset = 0;  ///< from the region's start
};

/// The keys of a region, told once before (or soon after) the first CTS or offer that names it.
struct Region {
  static constexpr MessageKind kKind = MessageKind::kRegion;
  bool to_receiver = false;
  CommName comm = 0;
  std::uint32_t region = 0;
  std::uint64_t base = 0;  ///< what the region's first byte is called in a remote write or read
  std::uint64_t length = 0;
  std::uint8_t rails = 0;
  std::array<std::uint64_t, kMaxRails> keys{};
};

/// Payload follows the header. `head` is the first receive that the sender had not matched when it
/// sent this.
struct Eager {
  static constexpr MessageKind kKind = MessageKind::kEager;
  CommName comm = 0;
  std::uint32_t eager_sequence = 0;
  std::uint32_t head = 0;
  std::int32_t tag = 0;
};
constexpr std::size_t kEagerHeaderBytes = 20;

struct Empty {
  static constexpr MessageKind kKind = MessageKind::kEmpty;
  CommName comm = 0;
  std::uint32_t slot = 0;
};

/// Payload follows the header; `immediate` says which receive it is for.
struct Delivery {
  static constexpr MessageKind kKind = MessageKind::kDelivery;
  CommName comm = 0;
  std::uint32_t immediate = 0;
};
constexpr std::size_t kDeliveryHeaderBytes = 12;

/// What a write with immediate data would have said.
struct Arrived {
  static constexpr MessageKind kKind = MessageKind::kArrived;
  CommName comm = 0;
  std::uint32_t immediate = 0;
  std::uint32_t length = 0;
};

struct Refuse {
  static constexpr MessageKind kKind = MessageKind::kRefuse;
  bool to_receiver = false;
  CommName comm = 0;
  std::uint32_t message_bytes = 0;
  std::uint32_t receive_bytes = 0;
};

struct Close {
  static constexpr MessageKind kKind = MessageKind::kClose;
  bool to_receiver = false;
  CommName comm = 0;
  std::uint64_t messages = 0;  ///< how many the sender sent, or the receiver fetched, in all
};

/// A message waits in the sender's memory for the receive in `slot`. `request` comes back with
/// Fetched.
struct Offer {
  static constexpr MessageKind kKind = MessageKind::kOffer;
  CommName comm = 0;
  std::uint16_t slot = 0;
  std::uint16_t request = 0;
  std::uint32_t bytes = 0;
  std::uint32_t region = 0;
  std::uint64_t offset = 0;  ///< from the region's start
};

struct Fetched {
  static constexpr MessageKind kKind = MessageKind::kFetched;
  CommName comm = 0;
  std::uint32_t request = 0;
};

struct Withdraw {
  static constexpr MessageKind kKind = MessageKind::kWithdraw;
  CommName comm = 0;
};

struct Withdrawn {
  static constexpr MessageKind kKind = MessageKind::kWithdrawn;
  CommName comm = 0;
};

struct Revoke {
  static constexpr MessageKind kKind = MessageKind::kRevoke;
  CommName comm = 0;
};

/// Sent on every rail, behind what was written there.
struct Revoked {
  static constexpr MessageKind kKind = MessageKind::kRevoked;
  std::uint8_t rail = 0;
  CommName comm = 0;
};

struct Probe {
  static constexpr MessageKind kKind = MessageKind::kProbe;
};

/// Which process this is, as others on the same machine can check it.
struct ProcessIdentity {
  std::uint64_t host = 0;  ///< boot and pid namespace; 0 if unknown
  std::uint32_t pid = 0;
  std::uint64_t start = 0;  ///< start time, so that a reused pid is not taken for it
};

/// What should be the same at both ends, for the user's sake. Each is a field of its own on the
/// wire: one that a version does not know is skipped, one that is not sent is untold.
struct Terms {
  enum class GpuDirect : std::uint8_t { kUntold = 0, kNo, kYes };
  // Bits of `protocols`: those of NCCL that may be used.
  static constexpr std::uint8_t kLl = 1;
  static constexpr std::uint8_t kLl128 = 2;
  static constexpr std::uint8_t kSimple = 4;

  std::string version = {};  ///< of the plugin
  GpuDirect gpudirect = GpuDirect::kUntold;
  std::uint8_t protocols = 0;  ///< 0: untold
};

/// A process's end of a connection.
struct Party {
  ProcessIdentity identity;
  std::string host;  ///< host name, for people
  std::string provider;
  bool writes = true;  ///< its NICs write into a peer's memory by themselves
  bool reads = true;   ///< its NICs read a peer's memory by themselves
  std::vector<std::vector<std::byte>> addresses;  ///< one for each rail
  Terms terms = {};
};

/// Whether messages of this sender are read by their receiver, not written: both sides come to the
/// same answer.
constexpr bool is_pulled(const Party& sender, const Party& receiver) {
  return !sender.writes && receiver.reads;
}

struct ConnectRequest {
  static constexpr MessageKind kKind = MessageKind::kConnectRequest;
  std::uint64_t secret = 0;
  std::uint32_t listener = 0;
  CommName send_comm = 0;
  Party party;
};

enum class Verdict : std::uint8_t { kAccepted = 0, kNoListener, kVersion, kProvider, kRefused };

struct ConnectReply {
  static constexpr MessageKind kKind = MessageKind::kConnectReply;
  Verdict verdict = Verdict::kAccepted;
  CommName send_comm = 0;
  CommName recv_comm = 0;
  Party party;
};

/// A control message in its encoded form, of at most EFA's inline size.
struct ShortMessage {
  std::uint8_t bytes = 0;
  std::array<std::byte, kInlineBytes> data{};
};

ShortMessage encode(const ClearToSend& message);
ShortMessage encode(const Empty& message);
ShortMessage encode(const Arrived& message);
ShortMessage encode(const Refuse& message);
ShortMessage encode(const Close& message);
ShortMessage encode(const Revoke& message);
ShortMessage encode(const Revoked& message);
ShortMessage encode(const Offer& message);
ShortMessage encode(const Fetched& message);
ShortMessage encode(const Withdraw& message);
ShortMessage encode(const Withdrawn& message);
ShortMessage encode(const Probe& message);

/// These return the bytes written to `out`, or 0 if it is too small.
std::size_t encode(const Region& message, std::span<std::byte> out);
std::size_t encode(const ConnectRequest& message, std::span<std::byte> out);
std::size_t encode(const ConnectReply& message, std::span<std::byte> out);
/// Writes the header; the payload goes behind it.
void encode_eager_header(const Eager& message, std::span<std::byte, kEagerHeaderBytes> out);

void encode_delivery_header(const Delivery& message,
                            std::span<std::byte, kDeliveryHeaderBytes> out);

/// The kind of a received message, unless it is none of ours.
std::optional<MessageKind> kind_of(std::span<const std::byte> bytes);

/// Checked decoders: nothing if the bytes are not such a message in every detail.
std::optional<ClearToSend> decode_clear_to_send(std::span<const std::byte> bytes);
std::optional<Region> decode_region(std::span<const std::byte> bytes);
std::optional<Eager> decode_eager(std::span<const std::byte> bytes);
std::optional<Empty> decode_empty(std::span<const std::byte> bytes);
std::optional<Delivery> decode_delivery(std::span<const std::byte> bytes);
std::optional<Arrived> decode_arrived(std::span<const std::byte> bytes);
std::optional<Refuse> decode_refuse(std::span<const std::byte> bytes);
std::optional<Close> decode_close(std::span<const std::byte> bytes);
std::optional<Revoke> decode_revoke(std::span<const std::byte> bytes);
std::optional<Revoked> decode_revoked(std::span<const std::byte> bytes);
std::optional<Offer> decode_offer(std::span<const std::byte> bytes);
std::optional<Fetched> decode_fetched(std::span<const std::byte> bytes);
std::optional<Withdraw> decode_withdraw(std::span<const std::byte> bytes);
std::optional<Withdrawn> decode_withdrawn(std::span<const std::byte> bytes);

/// A connection message of another protocol version decodes to its version alone.
template <typename Message>
struct Versioned {
  std::uint8_t version = 0;
  std::optional<Message> message;  ///< empty if the version is not ours
  std::uint64_t secret = 0;        ///< requests only: readable in every version
  CommName send_comm = 0;          ///< readable in every version
};
std::optional<Versioned<ConnectRequest>> decode_connect_request(std::span<const std::byte> bytes);
std::optional<Versioned<ConnectReply>> decode_connect_reply(std::span<const std::byte> bytes);

// --------------------------------------------------------------------------------------------------
// handle

constexpr std::size_t kHandleBytes = 128;

/// What listen() hands to the peer through NCCL. Position independent; the last 8 bytes are zero
/// and belong to the connector, which keeps its progress there between calls.
struct Handle {
  std::uint64_t secret = 0;
  std::uint32_t listener = 0;
  ProcessIdentity identity;
  std::vector<std::byte> address;
};

/// Writes all 128 bytes; the address has at most kMaxAddressBytes.
void encode(const Handle& handle, std::span<std::byte, kHandleBytes> out);

/// What is wrong with a handle's bytes.
enum class HandleFault : std::uint8_t { kNone, kForeign, kVersion, kDamaged };
struct DecodedHandle {
  HandleFault fault = HandleFault::kNone;
  std::uint8_t version = 0;
  Handle handle;
};
DecodedHandle decode_handle(std::span<const std::byte, kHandleBytes> bytes);

/// The connector's scratch word in a handle.
std::uint64_t handle_scratch(std::span<const std::byte, kHandleBytes> bytes);
void set_handle_scratch(std::span<std::byte, kHandleBytes> bytes, std::uint64_t value);

}  // namespace fabrail::transport
