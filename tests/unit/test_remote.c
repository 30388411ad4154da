#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/host_address.h"
#include "cli/http_get.h"
#include "cli/options.h"

const struct command *const sonde_commands[] = {NULL};

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        uint16_t port;
        const char *token;
    } cases[] = {
        {":8086", "127.0.0.1", 8086, ""},
        {"node-17.cluster:1", "node-17.cluster", 1, ""},
        {"[fe80::1]:9000", "fe80::1", 9000, ""},
        {"http://10.0.0.1:80", "10.0.0.1", 80, ""},
        {"http://10.0.0.1:80/", "10.0.0.1", 80, ""},
        {"http://n:80/abc_-9/", "n", 80, "abc_-9"},
    };
    static const char *const none[] = {"",          "8086",     "x.sonde",        ":",     ":0",
                                       ":65536",    ":80x",     "a b:80",         "a:80/", "[::1:80",
                                       "[::1]80",   "http://a", "http://a:8/b/c", "a;b:1", "http://a:8/b?c",
                                       "$(id):8086"};
    struct host_address address;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(host_address_read(cases[i].text, &address));
        assert_string_equal(address.host, cases[i].host);
        assert_int_equal(address.port, cases[i].port);
        assert_string_equal(address.token, cases[i].token);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (host_address_read(none[i], &address))
            fail_msg("'%s' is taken for an address", none[i]);
}

static void test_numbers_are_their_own_addresses(void **state)
{
    (void)state;
    char number[HOST_ADDRESS_NUMBER_SIZE];
    assert_int_equal(host_address_find("localhost", number, NULL), 0);
    assert_string_equal(number, "127.0.0.1");
    assert_int_equal(host_address_find("::1", number, NULL), 0);
    assert_string_equal(number, "::1");
    assert_int_equal(host_address_find("--help", number, NULL), -1);
}

static void test_heads_of_replies(void **state)
{
    (void)state;
    static const char whole[] = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX-Sonde-Run: a\r\n"
                                "X-Sonde-Size: 77\r\nX-Sonde-Live: 1\r\n\r\nhello";
    struct http_get_head head;
    int size = (int)(strlen(whole) - 5);
    for (int part = 0; part < size; part++)
        assert_int_equal(http_get_read_head(whole, (size_t)part, &head), 0);
    assert_int_equal(http_get_read_head(whole, strlen(whole), &head), size);
    assert_int_equal(head.status, 200);
    assert_int_equal(head.body_bytes, 5);
    assert_int_equal(head.size_bytes, 77);
    assert_string_equal(head.run, "a");
    assert_true(head.is_live);
}

static void test_what_is_no_reply(void **state)
{
    (void)state;
    static const char *const texts[] = {"\r\n\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/2 200\r\n\r\n",
                                        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
                                        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"};
    static char large[20000];
    struct http_get_head head;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(http_get_read_head(texts[i], strlen(texts[i]), &head), -1);
    memset(large, 'a', sizeof large);
    assert_int_equal(http_get_read_head(large, sizeof large, &head), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_numbers_are_their_own_addresses),
        cmocka_unit_test(test_heads_of_replies),
        cmocka_unit_test(test_what_is_no_reply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
