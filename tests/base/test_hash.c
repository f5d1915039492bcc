/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BLAKE2b-256 against the reference implementation of its authors: the digests are those of Python's
 * hashlib.blake2b(bytes(i % 251 for i in range(n)), digest_size=32).
 */
#include "harness.h"

#include "base/hash.h"

static const struct {
    size_t n;
    const char *digest;
} vectors[] = {
    {0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
    {1, "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314"},
    {127, "f2fe67ff342e21b8f45e8f2e0bcd1d9243245d50ee6c78042e9c491388791c72"},
    {128, "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1"},
    {129, "f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9"},
    {255, "d9ef0fc521b4266d16df662bec231bc2ec3989e7adeaf63169c295dc239dbbea"},
    {256, "582f782226018ec33076bd8d1c42413530ac7e1126260ffc0f306ba3befc3f24"},
    {257, "227e15ed64ee8e93eb7bc53828f76eed974f2c4ab1408c3d08f212b7f8d69904"},
    {1023, "90f21eb06ea3f72b69fafeb081d985dd05b8ec6217a92798050b704f0ad8842e"},
    {1025, "533c8d76c0f61487431e7c31d15417c8b53887e4765b5597d0d03cb085014afb"},
};

static void agrees_with_the_reference(void **state)
{
    unsigned char data[1025];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i % 251);
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++)
        for (size_t piece = 1; piece <= 1025; piece += 1 + piece / 2) { /* however it is handed over */
            gcut_hash h;
            gcut_hash_begin(&h);
            for (size_t at = 0; at < vectors[v].n; at += piece)
                gcut_hash_add(&h, data + at, piece < vectors[v].n - at ? piece : vectors[v].n - at);
            gcut_arena *a = gcut_arena_new(*state, NULL);
            assert_string_equal(gcut_hash_hex(&h, a), vectors[v].digest);
            gcut_arena_free(a);
        }
}

/* "abc", of RFC 7693's appendix with this length of digest. */
static void hashes_a_word(void **state)
{
    gcut_arena *a = gcut_arena_new(*state, NULL);
    gcut_hash h;
    gcut_hash_begin(&h);
    gcut_hash_add(&h, "abc", 3);
    assert_string_equal(gcut_hash_hex(&h, a),
                        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    gcut_arena_free(a);
}

/* Where a field ends is part of what is hashed. */
static void fields_are_apart(void **state)
{
    static const char *const pairs[][2] = {{"ab", "c"}, {"a", "bc"},   {"abc", ""},
                                           {"", "abc"}, {"abc", NULL}, {NULL, "abc"}};
    enum { N = sizeof pairs / sizeof *pairs };
    gcut_arena *a = gcut_arena_new(*state, NULL);
    const char *hex[N];
    for (int i = 0; i < N; i++) {
        gcut_hash h;
        gcut_hash_begin(&h);
        gcut_hash_text(&h, pairs[i][0]);
        gcut_hash_text(&h, pairs[i][1]);
        hex[i] = gcut_hash_hex(&h, a);
        for (int k = 0; k < i; k++) assert_string_not_equal(hex[i], hex[k]);
    }
    gcut_arena_free(a);
}

static const char *bulk(gcut_arena *a, const unsigned char *data, size_t n)
{
    gcut_hash h;
    gcut_hash_begin(&h);
    gcut_hash_bulk(&h, data, n);
    return gcut_hash_hex(&h, a);
}

/* Every bit of the data and its length count. */
static void bulk_sees_every_bit(void **state)
{
    unsigned char data[200] = {1, 2, 3};
    for (size_t n = 0; n <= sizeof data; n += 1 + n / 3) {
        gcut_arena *a = gcut_arena_new(*state, NULL);
        const char *whole = bulk(a, data, n);
        assert_string_equal(bulk(a, data, n), whole);
        if (n) assert_string_not_equal(bulk(a, data, n - 1), whole);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_string_not_equal(bulk(a, data, n), whole);
            data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        gcut_arena_free(a);
    }
}

static int setup(void **state)
{
    *state = gcut_env_new(NULL, NULL);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    gcut_env_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(agrees_with_the_reference, setup, teardown),
        cmocka_unit_test_setup_teardown(hashes_a_word, setup, teardown),
        cmocka_unit_test_setup_teardown(fields_are_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(bulk_sees_every_bit, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
