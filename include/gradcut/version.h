/* SPDX-License-Identifier: MIT
 *
 * The version of gradcut (https://semver.org).  CMakeLists.txt reads it from this file; the sonames of the
 * shared libraries follow GCUT_VERSION_MAJOR.
 */
#ifndef GRADCUT_VERSION_H
#define GRADCUT_VERSION_H

#define GCUT_VERSION_MAJOR 1
#define GCUT_VERSION_MINOR 0
#define GCUT_VERSION_PATCH 0

#endif
