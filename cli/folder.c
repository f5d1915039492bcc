/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Creates the folders of output files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

bool gcut_cli_make_folder(const char *path)
{
    char *part = strdup(path);
    bool ok = part != NULL;
    for (char *s = part; ok && s && *s; s++) {
        if (*s != '/' || s == part) continue;
        *s = 0;
        ok = mkdir(part, 0777) == 0 || errno == EEXIST;
        *s = '/';
    }
    ok = ok && (mkdir(path, 0777) == 0 || errno == EEXIST);
    struct stat st;
    if (ok && stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) ok = false, errno = ENOTDIR;
    if (!ok) gcut_cli_complain("the folder %s cannot be made: %s", path, strerror(errno));
    free(part);
    return ok;
}

bool gcut_cli_make_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return true;
    char *folder = strndup(path, (size_t)(slash - path));
    if (!folder) gcut_cli_complain("out of memory");
    bool ok = folder && gcut_cli_make_folder(folder);
    free(folder);
    return ok;
}
