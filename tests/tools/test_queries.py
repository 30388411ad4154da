"""docs/queries.md lists what can be asked, and the addresses and limits of the page's server."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/queries.md").read_text(encoding="utf-8")


def source(name):
    return (ROOT / "src" / name).read_text(encoding="utf-8")


def test_every_query_is_listed():
    asked = re.findall(r'\{"(\w+)", \w+_query\w*\}', source("query/queries.c"))
    assert len(asked) > 8
    assert sorted(re.findall(r"^\| `([a-z_]+)` \|", PAGE, re.MULTILINE)) == sorted(asked)


def test_fields_that_are_named_exist():
    fields = set(re.findall(r'(?:TEXT\(|\{")(\w+)', source("query/request.c")))
    named = re.search(r"^`thread`.*restrict", PAGE, re.MULTILINE).group()
    assert set(re.findall(r"`(\w+)`", named)) <= fields


def test_limits_are_those_of_the_code():
    assert "SERVER_REQUEST_BODY_MAX ((size_t)64 << 10)" in source("show/server_request.h")
    server = source("show/server.c")
    for name, value in (("CONNECTIONS_MAX", "64"), ("REQUEST_NS", "(10 *"), ("STALL_NS", "(30 *")):
        assert re.search(rf"#define {name} +{re.escape(value)}", server), name
    assert "#define RECORD_SOURCE_MAX (1u << 20)" in re.sub(" +", " ", source("store/record.h"))
    assert "#define ALL_BYTES_MAX ((size_t)16 << 20)" in source("export/sources.c")
