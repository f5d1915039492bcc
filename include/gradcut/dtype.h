/* SPDX-License-Identifier: MIT
 *
 * Types of elements.  The numbers are part of the interface; graph/dtype.def
 * says what each one is, in the same order.
 */
#ifndef GRADCUT_DTYPE_H
#define GRADCUT_DTYPE_H

typedef enum gcut_dtype {
    GCUT_NO_DTYPE = -1, /* of what has no type, such as a null value */
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

#endif
