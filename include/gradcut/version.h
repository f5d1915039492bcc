/* SPDX-License-Identifier: MIT
 *
 * The version of gradcut (https://semver.org), and that of the interface of emitted C.  CMakeLists.txt reads
 * both from this file; the soname of libgradcut follows GCUT_VERSION_MAJOR, that of libgradcut_rt GCUT_RT_ABI.
 */
#ifndef GRADCUT_VERSION_H
#define GRADCUT_VERSION_H

#define GCUT_VERSION_MAJOR 1
#define GCUT_VERSION_MINOR 0
#define GCUT_VERSION_PATCH 0

/* The version of what emitted C and this library agree on.  NAME.c does not compile with the header of
 * another one, NAME_init refuses the library of another one. */
#define GCUT_RT_ABI 5

#endif
