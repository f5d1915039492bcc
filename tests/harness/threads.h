/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The threads of this process, as Linux lists them.  Elsewhere there is none but the first.
 */
#ifndef GCUT_TESTS_THREADS_H
#define GCUT_TESTS_THREADS_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* True for S as ps prints it, not for R, which runs or waits for a core. */
static inline int thread_sleeps(const char *id)
{
    char path[300], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", id);
    FILE *f = fopen(path, "r");
    if (!f) return 1; /* has just ended */
    line[fread(line, 1, sizeof line - 1, f)] = '\0';
    fclose(f);
    const char *name_end = strrchr(line, ')');
    return !name_end || name_end[2] != 'R';
}

/* Threads besides the first one; *awake, if not NULL: those of them that do not sleep. */
static inline int count_threads(int *awake)
{
    char first[32];
    int n = 0, running = 0;
    DIR *d = opendir("/proc/self/task");
    snprintf(first, sizeof first, "%d", (int)getpid());
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.' || !strcmp(e->d_name, first)) continue;
        n++;
        running += !thread_sleeps(e->d_name);
    }
    if (d) closedir(d);
    if (awake) *awake = running;
    return n;
}

#endif
