// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How a function says that it failed: Result<T> is a value or the Error that explains its absence.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace fabrail {

/// What kind of failure an Error is; plugin/ turns it into NCCL's result codes.
enum class Code : unsigned char {
  kInvalidArgument,  ///< the caller broke the ABI's contract
  kInvalidUsage,     ///< the job's ranks disagree (sizes, versions, settings)
  kUnsupported,      ///< this build, library or device cannot do it
  kSystem,           ///< the operating system, libfabric or this machine's NIC failed
  kRemote,           ///< the peer, or the path to it, is gone
  kInternal,         ///< a bug of ours
};

/// Why something failed, with all that a user needs to act: what, where, native code, likely cause
/// and remedy.
///
/// Trivially copyable: it can be kept in a communicator and returned by every later call.
struct Error {
  static constexpr std::size_t kDetailBytes = 400;

  Code code = Code::kInternal;
  int native = 0;                  ///< errno or fi_errno, 0 if there is none
  bool reported = false;           ///< the user has been told
  char detail[kDetailBytes] = {};  ///< NUL terminated text for people

  [[nodiscard]] std::string_view text() const { return detail; }
};
static_assert(std::is_trivially_copyable_v<Error>);

/// Makes an Error whose text is formatted as by printf; what does not fit is cut.
Error make_error(Code code, int native, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

/// A value, or the Error that explains why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(const Error& error) : state_(std::in_place_index<1>, error) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  [[nodiscard]] T& value() { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& value() const { return *std::get_if<0>(&state_); }
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&state_); }
  [[nodiscard]] T take() { return std::move(value()); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or the Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(const Error& error) : error_(error) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace fabrail

/// Returns the error of `expression` (a Status or Result) to our caller, if it has one.
#define FR_TRY(expression)                                  \
  do {                                                      \
    if (auto fr_status_ = (expression); !fr_status_.ok()) { \
      return fr_status_.error();                            \
    }                                                       \
  } while (false)

#define FR_CONCAT_2(a, b) a##b
#define FR_CONCAT(a, b) FR_CONCAT_2(a, b)
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses
#define FR_TRY_ASSIGN_2(result, declaration, expression) \
  auto result = (expression);                            \
  if (!result.ok()) return result.error();               \
  declaration = result.take()

/// `FR_TRY_ASSIGN(auto x, f())`: x is the value of f(), or our caller gets its error.
#define FR_TRY_ASSIGN(declaration, expression) \
  FR_TRY_ASSIGN_2(FR_CONCAT(fr_result_, __LINE__), declaration, expression)
// NOLINTEND(bugprone-macro-parentheses)
