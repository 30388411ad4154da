"""What `sonde line` recorded, as plain dictionaries."""

import json


def functions(launch, output="out.sonde"):
    """{(first line, name): {line: row}} of all processes and threads together; rows have hits, total_ns, …"""
    report = launch.run([launch.sonde, "report", "--json", launch.folder / output])
    assert report.returncode == 0, report.stderr.decode()
    found = {}
    for function in json.loads(report.stdout)["lines"]:
        name = function["qualname"].split(".")[-1]
        rows = found.setdefault((function["line"], name), {})
        for row in function["rows"]:
            before = rows.setdefault(row["line"], {"hits": 0, "total_ns": 0, "self_ns": 0})
            for key in ("hits", "total_ns", "self_ns"):
                before[key] += row[key]
            before.update((key, row[key]) for key in ("min_ns", "max_ns"))
    return found


def by_name(launch, output="out.sonde"):
    """The same by name alone."""
    return {name: rows for (_, name), rows in functions(launch, output).items()}


def hits(rows):
    return {line: row["hits"] for line, row in rows.items() if row["hits"]}


def timed(launch, *arguments, output="out.sonde", options=(), **more):
    """Runs the interpreter with these arguments under `sonde line`."""
    command = [launch.sonde, "line", "--quiet", "-o", launch.folder / output, *options]
    return launch.run([*command, "--", launch.python.executable, *arguments], **more)
