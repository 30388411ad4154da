#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/redact.h"

/* A command line as words separated by '|', since the words may hold blanks. */
static void assert_words(const char *line, const char *expected)
{
    char text[1024], *words[32];
    int count = 0;
    strcpy(text, line);
    for (char *word = strtok(text, "|"); word; word = strtok(NULL, "|"))
        words[count++] = word;
    char *redacted = redact_words(count, words);
    assert_string_equal(redacted, expected);
    free(redacted);
}

static void assert_kept(const char *line)
{
    char expected[1024];
    strcpy(expected, line);
    for (char *at = expected; (at = strchr(at, '|'));)
        *at = ' ';
    assert_words(line, expected);
}

static void assert_value(const char *name, const char *value, const char *expected)
{
    char given[8192], wanted[8192], *word = given;
    snprintf(given, sizeof given, "%s=%s", name, value);
    snprintf(wanted, sizeof wanted, "%s=%s", name, expected);
    char *redacted = redact_words(1, &word);
    assert_string_equal(redacted, wanted);
    free(redacted);
}

static void test_named_secrets(void **state)
{
    (void)state;
    assert_words("x.py|--password=hunter2|-v", "x.py --password=[redacted] -v");
    assert_words("x.py|--password|hunter2|-v", "x.py --password [redacted] -v");
    assert_words("--db-passwd=a", "--db-passwd=[redacted]");
    assert_words("--apiKey|abcdef", "--apiKey [redacted]");
    assert_words("API_KEY=abc", "API_KEY=[redacted]");
    assert_words("--api-key=abc", "--api-key=[redacted]");
    assert_words("--token=123456", "--token=[redacted]");
    assert_words("-H|Authorization: Bearer abc.def", "-H Authorization: [redacted]");
    assert_words("host=a;user=b;password=c;db=d", "host=a;user=b;password=[redacted];db=d");
    assert_words("--auth-token|a b", "--auth-token [redacted]");
    assert_words("--password=a b,c;d&e", "--password=[redacted]");
    assert_words("PASSWORD=a b", "PASSWORD=[redacted]");
}

static void test_secrets_by_shape(void **state)
{
    (void)state;
    assert_words("a|ghp_0123456789abcdefghijABCDEFGHIJ012345|b", "a [redacted] b");
    assert_words("--id=AKIAIOSFODNN7EXAMPLE", "--id=[redacted]");
    assert_words("sk-proj-a1b2c3d4e5f6g7h8i9j0", "[redacted]");
    assert_words("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "[redacted]");
    assert_words("hf_abcdefghijklmnop12345", "[redacted]");
}

static void test_long_secrets(void **state)
{
    (void)state;
    char value[6000];
    memset(value, 'a', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    assert_value("MY_TOKEN", value, "[redacted]");
    memcpy(value, "x;token=", 8);
    assert_value("ANY", value, "x;token=[redacted]");
    assert_words("-----BEGIN RSA PRIVATE KEY-----\nMIIE owIB\n-----END RSA PRIVATE KEY-----", "[redacted]");
}

static void test_urls(void **state)
{
    (void)state;
    assert_words("postgres://me:secret@host/db", "postgres://me:[redacted]@host/db");
    assert_words("--url=https://me:p@ss@host:8080/x", "--url=https://me:[redacted]@host:8080/x");
    assert_words("https://abcdef@github.com/x.git", "https://[redacted]@github.com/x.git");
    assert_words("https://h/x?user=a&token=abc&n=1", "https://h/x?user=a&token=[redacted]&n=1");
    assert_kept("https://example.org:8080/a@b?x=1");
    assert_kept("redis://localhost:6379/0");
}

static void test_innocent_words_are_kept(void **state)
{
    (void)state;
    assert_kept("train.py|--epochs|100|--sort-key=time|-k|name");
    assert_kept("--author=me|--tokenizer=bert|--max-tokens=4096|--passthrough|--compass=n");
    assert_kept("--password-file=/etc/x|--password-file|/etc/x|--use-token=false|--auth=none");
    assert_kept("--key=value|--keys|a,b|monkey=1|--secretary=x");
    assert_kept("-c|import re; print(re.compile('a=b'))");
    assert_kept("sk-learn-pipeline-example|sk-short|AKIAshort");
    assert_kept("0123456789abcdef0123456789abcdef");
    assert_kept("--token|--verbose|x");
    assert_kept("");
}

static void test_environment(void **state)
{
    (void)state;
    assert_value("AWS_SECRET_ACCESS_KEY", "abc", "[redacted]");
    assert_value("GITHUB_TOKEN", "x y", "[redacted]");
    assert_value("DATABASE_URL", "mysql://u:p@h/d", "mysql://u:[redacted]@h/d");
    assert_value("PGPASSWORD", "x", "[redacted]");
    assert_value("SSH_AUTH_SOCK", "/tmp/ssh-x/agent", "/tmp/ssh-x/agent");
    assert_value("OMP_NUM_THREADS", "8", "8");
    assert_value("PATH", "/usr/bin:/bin", "/usr/bin:/bin");
    assert_value("OLDPWD", "/home/me", "/home/me");
    assert_value("LS_COLORS", "rs=0:di=01;34", "rs=0:di=01;34");
    assert_value("EMPTY_TOKEN", "", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named_secrets),
        cmocka_unit_test(test_secrets_by_shape),
        cmocka_unit_test(test_long_secrets),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_innocent_words_are_kept),
        cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
