// SPDX-License-Identifier: GPL-3.0-or-later
//
// run [NAME [ARGUMENT…]]: runs the test of that name, whose main() the build has renamed to run_NAME; without a name it
// lists them all.  The exit status is the test's, or 2 for a name that there is not.

#include <stdio.h>
#include <string.h>

#define TEST(name) int run_##name(void);
#define WITH_ARGUMENTS(name) int run_##name(int, char **);
#include "tests.inc"
#undef TEST
#undef WITH_ARGUMENTS

#define TEST(name) {.label = #name, .run = run_##name},
#define WITH_ARGUMENTS(name) {.label = #name, .run_with = run_##name},
static const struct {
    const char *label;
    int (*run)(void);
    int (*run_with)(int argc, char **argv); // argv[0] is the test's name
} tests[] = {
#include "tests.inc"
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (argc < 2)
            puts(tests[i].label);
        else if (strcmp(argv[1], tests[i].label) == 0)
            return tests[i].run ? tests[i].run() : tests[i].run_with(argc - 1, argv + 1);
    }
    if (argc < 2) return 0;
    fprintf(stderr, "%s: no test is named %s\n", argv[0], argv[1]);
    return 2;
}
