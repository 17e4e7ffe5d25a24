// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Sum, product, minimum, maximum and both ways to average, over NCCL's element types.
#include "tests/nccl_e2e/kernels/reduction.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <type_traits>

namespace emunccl {
namespace {

// Half precision is computed in float and rounded back, which gives what a GPU gives for one
// operation on two such numbers.
template <typename T>
struct Arithmetic {
  using Wide = T;
  static Wide widen(T value) { return value; }
  static T narrow(Wide value) { return value; }
};
template <>
struct Arithmetic<__half> {
  using Wide = float;
  static float widen(__half value) { return __half2float(value); }
  static __half narrow(float value) { return __float2half(value); }
};
template <>
struct Arithmetic<__nv_bfloat16> {
  using Wide = float;
  static float widen(__nv_bfloat16 value) { return __bfloat162float(value); }
  static __nv_bfloat16 narrow(float value) { return __float2bfloat16(value); }
};

template <typename T>
T load(const char* values, std::size_t index) {
  T value;
  std::memcpy(static_cast<void*>(&value), values + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void store(char* values, std::size_t index, T value) {
  std::memcpy(values + index * sizeof(T), &value, sizeof(T));
}

// into[i] = operation(into[i], values[i])
template <typename T, typename Operation>
void apply(char* into, const char* values, std::size_t count, Operation operation) {
  for (std::size_t i = 0; i < count; ++i) {
    store<T>(into, i, operation(load<T>(into, i), load<T>(values, i)));
  }
}

template <typename T>
void add(char* into, const char* values, std::size_t count, std::uint64_t) {
  using A = Arithmetic<T>;
  apply<T>(into, values, count, [](T a, T b) {
    return A::narrow(static_cast<typename A::Wide>(A::widen(a) + A::widen(b)));
  });
}

template <typename T>
void multiply(char* into, const char* values, std::size_t count, std::uint64_t) {
  using A = Arithmetic<T>;
  apply<T>(into, values, count, [](T a, T b) {
    return A::narrow(static_cast<typename A::Wide>(A::widen(a) * A::widen(b)));
  });
}

// For integers the argument is a mask that turns the wanted order (signed, or maximum) into
// "smaller as unsigned"; for floating point its lowest bit asks for the maximum.
template <typename T>
void choose(char* into, const char* values, std::size_t count, std::uint64_t argument) {
  apply<T>(into, values, count, [argument](T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      const T mask = static_cast<T>(argument);
      return static_cast<T>(b ^ mask) < static_cast<T>(a ^ mask) ? b : a;
    } else {
      const auto x = Arithmetic<T>::widen(a);
      const auto y = Arithmetic<T>::widen(b);
      return ((argument & 1) != 0 ? x < y : y < x) ? b : a;
    }
  });
}

template <typename T>
void scale(char* values, std::size_t count, std::uint64_t argument) {
  using A = Arithmetic<T>;
  const T factor = load<T>(reinterpret_cast<const char*>(&argument), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto product = A::widen(load<T>(values, i)) * A::widen(factor);
    store<T>(values, i, A::narrow(static_cast<typename A::Wide>(product)));
  }
}

template <typename T>
T divide(T value, std::uint64_t argument) {
  const std::uint64_t divisor = average_divisor(argument);
  if (!average_is_signed(argument, std::is_signed_v<T>)) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(value) / divisor);
  }
  const auto with_sign = static_cast<std::int64_t>(static_cast<std::make_signed_t<T>>(value));
  return static_cast<T>(with_sign / static_cast<std::int64_t>(divisor));
}

template <typename T>
void divide_all(char* values, std::size_t count, std::uint64_t argument) {
  for (std::size_t i = 0; i < count; ++i) {
    store<T>(values, i, divide(load<T>(values, i), argument));
  }
}

template <typename T>
std::optional<Reduction> reduction_on(ncclDevRedOp_t operation) {
  Reduction r{.element_bytes = sizeof(T)};
  switch (operation) {
    case ncclDevSum:
      r.combine = add<T>;
      return r;
    case ncclDevProd:
      r.combine = multiply<T>;
      return r;
    case ncclDevMinMax:
      r.combine = choose<T>;
      r.argument_bytes = sizeof(T);
      return r;
    case ncclDevPreMulSum:
      r.begin = scale<T>;
      r.combine = add<T>;
      r.argument_bytes = sizeof(T);
      return r;
    case ncclDevSumPostDiv:
      if constexpr (std::is_integral_v<T>) {
        r.combine = add<T>;
        r.finish = divide_all<T>;
        r.argument_bytes = sizeof(std::uint64_t);
        return r;
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Reduction> find_reduction(ncclDevRedOp_t operation, ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return reduction_on<std::int8_t>(operation);
    case ncclUint8:
      return reduction_on<std::uint8_t>(operation);
    case ncclInt32:
      return reduction_on<std::int32_t>(operation);
    case ncclUint32:
      return reduction_on<std::uint32_t>(operation);
    case ncclInt64:
      return reduction_on<std::int64_t>(operation);
    case ncclUint64:
      return reduction_on<std::uint64_t>(operation);
    case ncclFloat16:
      return reduction_on<__half>(operation);
    case ncclBfloat16:
      return reduction_on<__nv_bfloat16>(operation);
    case ncclFloat32:
      return reduction_on<float>(operation);
    case ncclFloat64:
      return reduction_on<double>(operation);
    default:
      return std::nullopt;
  }
}

}  // namespace emunccl
