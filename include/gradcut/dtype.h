/* SPDX-License-Identifier: MIT
 *
 * Types of elements.  The numbers are part of the interface; graph/ops/dtype.def
 * says what each one is, in the same order.
 */
#ifndef GRADCUT_DTYPE_H
#define GRADCUT_DTYPE_H

typedef enum gcut_dtype {
    GCUT_NO_DTYPE = -1, /* there is none, as of a null value or a void * */
    GCUT_BOOL = 0,
    GCUT_I8 = 1,
    GCUT_I16 = 2,
    GCUT_I32 = 3,
    GCUT_I64 = 4,
    GCUT_U8 = 5,
    GCUT_F16 = 6,
    GCUT_BF16 = 7,
    GCUT_F32 = 8,
    GCUT_F64 = 9
} gcut_dtype;
#define GCUT_NDTYPES 10

/* Axes of a type, at most. */
#define GCUT_MAX_RANK 8

/* GCUT_DTYPE_AT_(p): the dtype of the elements that the pointer p is declared to point to.  GCUT_NO_DTYPE
 * where the declaration does not tell: void *, plain bytes (char, unsigned char), other unsigned integers,
 * which may be the bits of an f16 or bf16, and whatever else has no dtype. */
#ifndef __cplusplus
#include <stdbool.h>
/* A pointer to an element, or to a row of elements. */
#define GCUT_DTYPE_ROW_(type, dtype)                                                                         \
    type * : (dtype), const type * : (dtype), type(*)[] : (dtype), const type(*)[] : (dtype)
#define GCUT_DTYPE_AT_(p)                                                                                    \
    _Generic((p), GCUT_DTYPE_ROW_(float, GCUT_F32), GCUT_DTYPE_ROW_(double, GCUT_F64),                       \
             GCUT_DTYPE_ROW_(bool, GCUT_BOOL), GCUT_DTYPE_ROW_(signed char, GCUT_I8),                        \
             GCUT_DTYPE_ROW_(short, GCUT_I16), GCUT_DTYPE_ROW_(int, GCUT_I32),                               \
             GCUT_DTYPE_ROW_(long, sizeof(long) == 8 ? GCUT_I64 : GCUT_I32),                                 \
             GCUT_DTYPE_ROW_(long long, GCUT_I64), default                                                   \
             : GCUT_NO_DTYPE)
#else
#include <type_traits>
template <typename T> struct gcut_element_dtype_ {
    static constexpr gcut_dtype value = GCUT_NO_DTYPE;
};
template <> struct gcut_element_dtype_<float> {
    static constexpr gcut_dtype value = GCUT_F32;
};
template <> struct gcut_element_dtype_<double> {
    static constexpr gcut_dtype value = GCUT_F64;
};
template <> struct gcut_element_dtype_<bool> {
    static constexpr gcut_dtype value = GCUT_BOOL;
};
template <> struct gcut_element_dtype_<signed char> {
    static constexpr gcut_dtype value = GCUT_I8;
};
template <> struct gcut_element_dtype_<short> {
    static constexpr gcut_dtype value = GCUT_I16;
};
template <> struct gcut_element_dtype_<int> {
    static constexpr gcut_dtype value = GCUT_I32;
};
template <> struct gcut_element_dtype_<long> {
    static constexpr gcut_dtype value = sizeof(long) == 8 ? GCUT_I64 : GCUT_I32;
};
template <> struct gcut_element_dtype_<long long> {
    static constexpr gcut_dtype value = GCUT_I64;
};
/* Of what T is an array of, or T itself. */
template <typename T>
constexpr gcut_dtype gcut_dtype_at_ =
    gcut_element_dtype_<std::remove_cv_t<std::remove_all_extents_t<T>>>::value;
#endif

#endif
