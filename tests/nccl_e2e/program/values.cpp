// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Values from a hash of seed, rank and index.
#include "tests/nccl_e2e/program/values.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace nccl_test {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 29)) * 0xd6e8feb86659fd93U;
  return x ^ (x >> 32);
}

bool is_signed(ncclDataType_t type) {
  return type != ncclUint8 && type != ncclUint32 && type != ncclUint64;
}

std::uint64_t hash_at(const Pattern& p, int rank, std::size_t index) {
  return mix(p.seed * 1000003 + static_cast<std::uint64_t>(rank) * 7919 + mix(index));
}

// Sums of 16 ranks stay below 127, products below 65536; both signs where the type has them.
std::int64_t value_at(const Pattern& p, int rank, std::size_t index) {
  const std::uint64_t h = hash_at(p, rank, index);
  switch (p.operation) {
    case ncclProd:
      return 1 + static_cast<std::int64_t>(h % 2);
    case ncclMin:
    case ncclMax:
      return static_cast<std::int64_t>(h % 101) - (is_signed(p.type) ? 50 : 0);
    default:
      return static_cast<std::int64_t>(h % 7);
  }
}

template <typename T>
void append(std::vector<char>* out, T value) {
  const char* bytes = reinterpret_cast<const char*>(&value);
  out->insert(out->end(), bytes, bytes + sizeof value);
}

void append_integer(std::vector<char>* out, ncclDataType_t type, std::int64_t value) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return append(out, static_cast<std::uint8_t>(value));
    case ncclInt32:
    case ncclUint32:
      return append(out, static_cast<std::uint32_t>(value));
    case ncclInt64:
    case ncclUint64:
      return append(out, static_cast<std::uint64_t>(value));
    case ncclFloat16:
      return append(out, __float2half(static_cast<float>(value)));
    case ncclBfloat16:
      return append(out, __float2bfloat16(static_cast<float>(value)));
    case ncclFloat32:
      return append(out, static_cast<float>(value));
    default:
      return append(out, static_cast<double>(value));
  }
}

bool is_floating(ncclDataType_t type) {
  return type == ncclFloat16 || type == ncclBfloat16 || type == ncclFloat32 || type == ncclFloat64;
}

void append_fraction(std::vector<char>* out, ncclDataType_t type, double value) {
  switch (type) {
    case ncclFloat16:
      return append(out, __float2half(static_cast<float>(value)));
    case ncclBfloat16:
      return append(out, __float2bfloat16(static_cast<float>(value)));
    case ncclFloat32:
      return append(out, static_cast<float>(value));
    default:
      return append(out, value);
  }
}

std::int64_t combine(ncclRedOp_t operation, std::int64_t a, std::int64_t b) {
  switch (operation) {
    case ncclProd:
      return a * b;
    case ncclMin:
      return std::min(a, b);
    case ncclMax:
      return std::max(a, b);
    default:
      return a + b;
  }
}

template <typename T>
T element(const std::vector<char>& bytes, std::size_t index) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double number_at(const std::vector<char>& bytes, ncclDataType_t type, std::size_t index) {
  switch (type) {
    case ncclFloat16:
      return static_cast<double>(__half2float(element<__half>(bytes, index)));
    case ncclBfloat16:
      return static_cast<double>(__bfloat162float(element<__nv_bfloat16>(bytes, index)));
    case ncclFloat32:
      return static_cast<double>(element<float>(bytes, index));
    default:
      return element<double>(bytes, index);
  }
}

// The distance of 1 from the next number, times what as many roundings as ranks may add up to.
double tolerance(const Pattern& p) {
  const double unit = p.type == ncclFloat16    ? 0x1p-10
                      : p.type == ncclBfloat16 ? 0x1p-7
                      : p.type == ncclFloat32  ? 0x1p-23
                                               : 0x1p-52;
  return unit * p.ranks;
}

}  // namespace

std::size_t type_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

std::vector<char> input_of(const Pattern& pattern, int rank, std::size_t first, std::size_t count) {
  std::vector<char> out;
  out.reserve(count * type_bytes(pattern.type));
  for (std::size_t i = first; i < first + count; ++i) {
    if (pattern.reduces) {
      append_integer(&out, pattern.type, value_at(pattern, rank, i));
    } else {
      const std::uint64_t random = hash_at(pattern, rank, i);
      const char* bytes = reinterpret_cast<const char*>(&random);
      out.insert(out.end(), bytes, bytes + type_bytes(pattern.type));
    }
  }
  return out;
}

std::vector<char> reduced(const Pattern& pattern, std::size_t first, std::size_t count) {
  std::vector<char> out;
  out.reserve(count * type_bytes(pattern.type));
  for (std::size_t i = first; i < first + count; ++i) {
    std::int64_t value = value_at(pattern, 0, i);
    for (int rank = 1; rank < pattern.ranks; ++rank) {
      value = combine(pattern.operation, value, value_at(pattern, rank, i));
    }
    if (pattern.operation != ncclAvg) {
      append_integer(&out, pattern.type, value);
    } else if (is_floating(pattern.type)) {
      append_fraction(&out, pattern.type, static_cast<double>(value) / pattern.ranks);
    } else {
      append_integer(&out, pattern.type, value / pattern.ranks);
    }
  }
  return out;
}

std::size_t count_wrong(const Pattern& pattern, const std::vector<char>& got,
                        const std::vector<char>& wanted) {
  const std::size_t bytes = type_bytes(pattern.type);
  const bool averages = pattern.reduces && pattern.operation == ncclAvg;
  const double allowed = averages && is_floating(pattern.type) ? tolerance(pattern) : 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < wanted.size() / bytes; ++i) {
    if (std::memcmp(got.data() + i * bytes, wanted.data() + i * bytes, bytes) == 0) continue;
    if (allowed > 0) {
      const double x = number_at(got, pattern.type, i);
      const double y = number_at(wanted, pattern.type, i);
      if (std::abs(x - y) <= allowed * std::max(1.0, std::abs(y))) continue;
    }
    ++wrong;
  }
  return wrong;
}

}  // namespace nccl_test
