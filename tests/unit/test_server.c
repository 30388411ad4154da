#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "query/opened.h"
#include "show/peer_user.h"
#include "show/server_reply.h"
#include "show/server_request.h"

#define TOKEN "0123456789abcdef"
#define HOST  "Host: localhost:8642\r\n"

static const char page[] =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'\"> the page";

/* Sends the text to a site; the reply is text that ends with a zero. */
static enum server_next reply_at(const char *host, const char *text, struct bytes *out)
{
    struct opened *opened = calloc(1, sizeof *opened);
    struct server_site site = {.token = TOKEN, .host = host, .opened = opened};
    struct server_request request;
    assert_int_equal(opened_add(opened, "x", "main;work 5\n", 12, NULL), 0);
    bytes_put_text(&site.page, page);
    server_reply_prepare(&site);
    bytes_reset(out);
    int state = server_request_read(text, strlen(text), &request);
    enum server_next next = SERVER_CLOSE;
    if (state == SERVER_REQUEST_WHOLE)
        next = server_reply_make(&site, &request, out);
    else
        server_reply_refuse(&site, state, out);
    bytes_put_u8(out, 0);
    bytes_clear(&site.page);
    opened_clear(opened);
    free(opened);
    return next;
}

static int status_of(const struct bytes *out)
{
    int status = 0;
    assert_int_equal(sscanf((char *)out->data, "HTTP/1.1 %d", &status), 1);
    return status;
}

static void expect(const char *host, int status, const char *text)
{
    struct bytes out = {0};
    reply_at(host, text, &out);
    if (status_of(&out) != status)
        fail_msg("%d instead of %d for:\n%s", status_of(&out), status, text);
    bytes_clear(&out);
}

static void test_who_has_the_token_gets_the_page(void **state)
{
    (void)state;
    struct bytes out = {0};
    assert_int_equal(reply_at(NULL, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n", &out), SERVER_KEEP);
    const char *text = (char *)out.data;
    assert_int_equal(status_of(&out), 200);
    assert_non_null(strstr(text, "\r\n\r\n<meta"));
    assert_non_null(
        strstr(text, "\r\nContent-Security-Policy: script-src 'none'; frame-ancestors 'none'\r\n"));
    assert_non_null(strstr(text, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(text, "\r\nReferrer-Policy: no-referrer\r\n"));
    assert_non_null(strstr(text, "\r\nCache-Control: no-store\r\n"));
    assert_int_equal(reply_at(NULL, "HEAD /" TOKEN "/?a=1 HTTP/1.0\r\n" HOST "\r\n", &out), SERVER_CLOSE);
    assert_null(strstr((char *)out.data, "<meta"));
    char size[64];
    snprintf(size, sizeof size, "\r\nContent-Length: %zu\r\n", strlen(page));
    assert_non_null(strstr((char *)out.data, size));
    assert_int_equal(reply_at(NULL, "GET /" TOKEN " HTTP/1.1\r\n" HOST "\r\n", &out), SERVER_KEEP);
    assert_non_null(strstr((char *)out.data, "\r\nLocation: /" TOKEN "/\r\n"));
    bytes_clear(&out);
}

static void test_questions_are_answered(void **state)
{
    (void)state;
    struct bytes out = {0};
    const char *text = "POST /" TOKEN "/ask HTTP/1.1\r\n" HOST "Origin: http://localhost:8642\r\n"
                       "Sec-Fetch-Site: same-origin\r\nContent-Length: 20\r\n\r\n{\"ask\":\"recordings\"}";
    assert_int_equal(reply_at(NULL, text, &out), SERVER_KEEP);
    assert_int_equal(status_of(&out), 200);
    assert_non_null(memmem(out.data, out.size, "\"recordings\":[\"x\"]", 18));
    assert_int_equal(reply_at(NULL, "GET /" TOKEN "/events HTTP/1.1\r\n" HOST "\r\n", &out), SERVER_STREAM);
    assert_non_null(strstr((char *)out.data, "text/event-stream"));
    bytes_clear(&out);
}

static int give_piece(void *context, uint64_t from, struct server_piece *piece)
{
    const char *whole = context;
    piece->size = strlen(whole);
    piece->run = "today";
    piece->is_live = true;
    if (from < piece->size)
        bytes_put_text(&piece->data, whole + from);
    return 0;
}

/* What the site says to a process of its own user, or of another. */
static int ask_live(const char *path, bool is_own_user, struct bytes *out)
{
    char text[256];
    struct opened *opened = calloc(1, sizeof *opened);
    struct server_request request;
    struct server_site site = {
        .token = TOKEN, .opened = opened, .piece = give_piece, .context = (void *)"abcdef"};
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST "\r\n", path);
    assert_int_equal(server_request_read(text, strlen(text), &request), SERVER_REQUEST_WHOLE);
    request.is_own_user = is_own_user;
    bytes_reset(out);
    server_reply_make(&site, &request, out);
    bytes_put_u8(out, 0);
    free(opened);
    return status_of(out);
}

static void test_a_run_is_given_in_pieces(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool is_own_user;
        int status;
        const char *body;
    } cases[] = {
        {"/recording", true, 200, "abcdef"},
        {"/recording?from=0", true, 200, "abcdef"},
        {"/recording?from=4", true, 200, "ef"},
        {"/recording?from=6", true, 200, ""},
        {"/recording?from=18446744073709551615", true, 200, ""},
        {"/recording?from=99999999999999999999999", true, 200, ""},
        {"/recording?from=-1", true, 200, "abcdef"},
        {"/" TOKEN "/recording?from=5", false, 200, "f"},
        {"/recording?from=0", false, 403, NULL},
        {"/", false, 403, NULL},
        {"/recordings", true, 404, NULL},
        {"/../etc/passwd", true, 404, NULL},
    };
    struct bytes out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ask_live(cases[i].path, cases[i].is_own_user, &out), cases[i].status);
        if (!cases[i].body)
            continue;
        assert_string_equal(strstr((char *)out.data, "\r\n\r\n") + 4, cases[i].body);
        assert_non_null(
            strstr((char *)out.data, "X-Sonde-Run: today\r\nX-Sonde-Size: 6\r\nX-Sonde-Live: 1\r\n"));
    }
    bytes_clear(&out);
}

static void test_whose_connection_it_is(void **state)
{
    (void)state;
    static const char table[] =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:1F96 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n"
        "   1: 0100007F:1F96 0100007F:C001 01 00000000:00000000 00:00000000 00000000     7        0 2 1 0\n"
        " 123: 0100007F:C001 0100007F:1F96 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0\n"
        "   3: 0100007F:C002 0100007F:1F96 06 00000000:00000000 03:00000F5E 00000000     0        0 0 3 0\n";
    const uint32_t here = htonl(INADDR_LOOPBACK);
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(0x1f96), .sin_addr = {here}};
    struct sockaddr_in client = {.sin_family = AF_INET, .sin_port = htons(0xc001), .sin_addr = {here}};
    const struct sockaddr *far = (struct sockaddr *)&client, *near = (struct sockaddr *)&server;
    uint32_t user = 0;
    assert_true(peer_user_find(table, far, near, &user));
    assert_int_equal(user, 1000);
    client.sin_port = htons(0xc002); /* closed: nobody's */
    assert_false(peer_user_find(table, far, near, &user));
    client.sin_port = htons(0xc003);
    assert_false(peer_user_find(table, far, near, &user));
    assert_false(peer_user_find("", far, near, &user));
}

static void test_others_are_refused(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *path, *head;
    } cases[] = {
        {403, "/", HOST},
        {403, "/0123456789abcdee/", HOST},
        {403, "/0123456789abcde/", HOST},
        {403, "/" TOKEN "x/", HOST},
        {403, "//" TOKEN "/", HOST},
        {404, "/" TOKEN "/../etc/passwd", HOST},
        {404, "/" TOKEN "/etc/passwd", HOST},
        {404, "/" TOKEN "//", HOST},
        {421, "/" TOKEN "/", ""},
        {421, "/" TOKEN "/", "Host: \r\n"},
        {421, "/" TOKEN "/", "Host: evil.example\r\n"},
        {421, "/" TOKEN "/", "Host: localhost.evil.example:8642\r\n"},
        {421, "/" TOKEN "/", "Host: 127.0.0.1.evil.example\r\n"},
        {421, "/" TOKEN "/", "Host: 192.168.1.7:8642\r\n"},
        {200, "/" TOKEN "/", "Host: 127.0.0.1\r\n"},
        {200, "/" TOKEN "/", "Host: LocalHost:1\r\n"},
        {200, "/" TOKEN "/", "Host: [::1]:9000\r\n"},
        {403, "/" TOKEN "/", HOST "Origin: http://evil.example\r\n"},
        {403, "/" TOKEN "/", HOST "Origin: http://localhost:1\r\n"},
        {403, "/" TOKEN "/", HOST "Origin: null\r\n"},
        {403, "/" TOKEN "/", HOST "Sec-Fetch-Site: cross-site\r\n"},
        {200, "/" TOKEN "/", HOST "Sec-Fetch-Site: none\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n%s\r\n", cases[i].path, cases[i].head);
        expect(NULL, cases[i].status, text);
    }
}

static void test_beyond_this_machine_addresses_are_hosts(void **state)
{
    (void)state;
    expect("0.0.0.0", 200, "GET /" TOKEN "/ HTTP/1.1\r\nHost: 192.168.1.7:8642\r\n\r\n");
    expect("0.0.0.0", 200, "GET /" TOKEN "/ HTTP/1.1\r\nHost: [fe80::1]\r\n\r\n");
    expect("0.0.0.0", 421, "GET /" TOKEN "/ HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    expect("0.0.0.0", 421, "GET /" TOKEN "/ HTTP/1.1\r\nHost: [evil]\r\n\r\n");
}

static void test_wrong_ways(void **state)
{
    (void)state;
    static const char *const methods[] = {"PUT", "DELETE", "OPTIONS", "CONNECT", "BREW"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s /" TOKEN "/ask HTTP/1.1\r\n" HOST "\r\n", methods[i]);
        expect(NULL, 405, text);
    }
    expect(NULL, 405, "POST /" TOKEN "/ HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
    expect(NULL, 405, "GET /" TOKEN "/ask HTTP/1.1\r\n" HOST "\r\n");
}

static void test_what_is_no_request(void **state)
{
    (void)state;
    static const struct {
        int state;
        const char *text;
    } cases[] = {
        {0, ""},
        {0, "GET / HTTP/1.1\r\n"},
        {0, "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n1234"},
        {1, "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345GET"},
        {400, "\r\n\r\n"},
        {400, "GET\r\n\r\n"},
        {400, "GET /\r\n\r\n"},
        {400, "GET http://localhost/ HTTP/1.1\r\n\r\n"},
        {505, "GET / HTTP/1.1 \r\n\r\n"},
        {400, "GET / FTP\r\n\r\n"},
        {400, "GET  / HTTP/1.1\r\n\r\n"},
        {505, "GET / HTTP/2.0\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nno colon\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\nb\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nContent-Length:\r\n\r\n"},
        {413, "POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n"},
        {413, "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999999\r\n\r\n"},
        {501, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct server_request request;
        int got = server_request_read(cases[i].text, strlen(cases[i].text), &request);
        if (got != cases[i].state)
            fail_msg("%d instead of %d for:\n%s", got, cases[i].state, cases[i].text);
    }
    char *long_head = malloc(SERVER_REQUEST_HEAD_MAX);
    struct server_request request;
    memset(long_head, 'a', SERVER_REQUEST_HEAD_MAX);
    assert_int_equal(server_request_read(long_head, SERVER_REQUEST_HEAD_MAX - 1, &request), 0);
    assert_int_equal(server_request_read(long_head, SERVER_REQUEST_HEAD_MAX, &request), 431);
    free(long_head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_has_the_token_gets_the_page),
        cmocka_unit_test(test_questions_are_answered),
        cmocka_unit_test(test_a_run_is_given_in_pieces),
        cmocka_unit_test(test_whose_connection_it_is),
        cmocka_unit_test(test_others_are_refused),
        cmocka_unit_test(test_beyond_this_machine_addresses_are_hosts),
        cmocka_unit_test(test_wrong_ways),
        cmocka_unit_test(test_what_is_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
