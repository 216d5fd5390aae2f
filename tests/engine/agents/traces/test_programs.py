"""What commands come to: the SQL in them, the files they write, and scripts that are run later."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.agents.traces import WrittenFile, pretty_sql
from engine.agents.traces.codex import inner_command
from engine.agents.traces.programs import Known, look
from engine.agents.traces.python import look_python
from engine.agents.traces.shell import calls_in
from engine.agents.traces.sql import is_sql, split, statements

PATCH = """apply_patch <<'E'
*** Begin Patch
*** Add File: n.py
+x = 1
*** Update File: o.py
@@
-a
+b
*** Delete File: p.py
*** End Patch
E
"""
Q = "SELECT stay_id FROM mimiciv_icu.icustays"


@pytest.mark.parametrize(
    "command",
    [
        f"duckdb database.duckdb -c '{Q}'",
        f'duckdb -readonly -csv database.duckdb "{Q}" > out.csv',
        f"duckdb database.duckdb <<'SQL'\n.mode csv\n{Q}\nSQL",
        f"duckdb database.duckdb <<< '{Q}'",
        f"echo '{Q}' | duckdb database.duckdb",
        f"cat <<'SQL' | timeout 60 duckdb database.duckdb\n{Q}\nSQL",
        f"cat > q.sql <<'SQL'\n{Q}\nSQL\nduckdb database.duckdb < q.sql",
        f"python3 -c \"import duckdb; duckdb.connect('x').sql('{Q}')\"",
        f"python3 - <<'E'\nimport duckdb\nq = '''{Q}'''\nprint(duckdb.sql(q))\nE",
        f"cat > s.py <<'E'\nimport duckdb\nduckdb.sql('{Q}')\nE\npython3 s.py",
        f"bash -lc 'duckdb database.duckdb -c \"{Q}\"'",
        f"python3 - <<'E'\nimport subprocess\nsubprocess.run(['duckdb', 'x.db', '-c', '{Q}'])\nE",
        f"python3 -c \"$(cat <<'E'\nimport duckdb\nduckdb.sql('{Q}')\nE\n)\"",
    ],
)
def test_sql_is_found(command: str):
    assert [text.strip() for text in look(command, Known()).sql] == [Q]


def test_sql_put_together_in_a_program():
    program = look_python(
        "t = 'icustays'\n"
        "a = f'SELECT * FROM {schema}.{t}'\n"
        "b = 'SELECT 1 ' + 'FROM x'\n"
        "c = 'Select one of the two'\n"
        "d = 'With love'\n"
    )
    assert program.sql == ["SELECT * FROM {}.icustays", "SELECT 1 FROM x"]


def test_scripts_written_by_a_tool_are_known_when_they_run():
    known = Known()
    assert known.add(WrittenFile(path="/job/q.sql", how="add", content=f"{Q};\n")) == (f"{Q};",)
    assert look("duckdb database.duckdb < q.sql", known).sql == (f"{Q};",)
    assert look("duckdb database.duckdb -c '.read q.sql'", known).sql == (f"{Q};",)
    known.add(WrittenFile(path="/job/q.sql", how="delete"))
    assert look("duckdb database.duckdb < q.sql", known).sql == ()


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("echo a > x; echo b >> y 2>/dev/null", [("x", "redirect"), ("y", "redirect")]),
        ("cat > a.py <<'E'\nprint(1)\nE", [("a.py", "redirect")]),
        ("sort a | tee -a b.txt", [("b.txt", "redirect")]),
        ("cmd 2>&1 >/dev/null", []),
        (f"duckdb x -c \"COPY ({Q}) TO 'output.csv' (HEADER)\"", [("output.csv", "copy")]),
        ("python3 -c \"df.to_csv('o'); open('p', 'w')\"", [("o", "call"), ("p", "call")]),
        ("python3 -c \"open('p.txt').read()\"", []),
        (
            "python3 -c \"import duckdb; duckdb.sql(\\\"COPY t TO 'z.parquet'\\\")\"",
            [("z.parquet", "call")],
        ),
        (
            PATCH,
            [("n.py", "add"), ("o.py", "edit"), ("p.py", "delete")],
        ),
        ("duckdb x <<'E'\n.output r.csv\nSELECT 1;\nE", [("r.csv", "redirect")]),
        ("duckdb x -c \"SELECT 'COPY t TO ''z.csv'''\"", []),
    ],
)  # fmt: skip
def test_files_written(command: str, files: list[tuple[str, str]]):
    assert [(file.path, file.how) for file in look(command, Known()).writes] == files


def test_contents_of_here_documents_are_kept():
    (file,) = look("cat > a.py <<'E'\nx = '$HOME'\nE", Known()).writes
    assert file.content == "x = '$HOME'\n"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (Q, True),
        ("-- first\nWITH a AS (SELECT 1) SELECT * FROM a", True),
        ("CREATE OR REPLACE TEMP TABLE x AS SELECT 1", True),
        ("FROM icustays SELECT stay_id", True),
        ("DESCRIBE mimiciv_icu.icustays", True),
        ("show tables", True),
        ("PRAGMA database_list", True),
        ("from x import y", False),
        ("Update the set of stays", False),
        ("Create a table with one row per stay", False),
        ("with open(path) as file:", False),
        ("select", False),
        ("", False),
    ],
)
def test_is_it_sql(text: str, answer: bool):
    assert is_sql(text) is answer


def test_statements_and_their_layout():
    assert statements("SELECT ';' ; -- a;b\nSELECT 2") == ("SELECT ';' ;", "SELECT 2")
    assert pretty_sql("select a,b from t where x=1") == "SELECT\n  a,\n  b\nFROM t\nWHERE\n  x = 1"
    assert pretty_sql("select from where (") == "select from where ("


PIECES = st.sampled_from(
    ["'", '"', "$(", ")", "`", "<<E\n", "\nE\n", "|", "&&", ">", "python3 -c ", "duckdb ", "{", "}",
     "((", "))", "\\", "\n", " ", "$X", "X=1 ", "if ", "; then ", " fi", "curl ", "\x00", "é",
     "\ud800", "import requests\n", "SELECT ", " FROM 'https://x'", "/*", "--", "*** Add File: x\n",
     "exec(",
     "f'{", "eval ", "bash -c "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
@settings(max_examples=200, deadline=None)
def test_no_text_raises(text: str):
    look(text, Known())
    look_python(text)
    calls_in(text)
    is_sql(text)
    pretty_sql(text)


@pytest.mark.parametrize(
    "text",
    [
        "$(" * 3000,
        "(" * 20_000,
        "bash -c '" * 200,
        "echo " + "x " * 50_000,
        "python3 -c '" + "a+" * 20_000 + "1'",
        "python3 -c '" + "(" * 3000 + "'",
        "duckdb -c '" + "(" * 20_000 + "'",
        "create table " + "a." * 30_000,
        "if true; then " * 1000,
        "cat <<E\n" * 500,
    ],
)
def test_no_text_is_too_deep_or_too_slow(text: str):
    """A search that looks back over and over would run into the test's time limit."""
    look(text, Known())
    look_python(text)
    is_sql(text)


PIECES = st.sampled_from(
    [
        *"SELECT a;'\"-/*$#{}\\\n .,()@`%:E",
        *("'x;y'", '"c d"', "--", "/*", "*/", "$$", "FROM t", ";\n"),
    ]
)


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30))
def test_plain_statements_are_told_apart_as_by_their_tokens(text: str):
    assert statements(text) == split(text)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("/bin/bash -lc 'ls -la'", "ls -la"),
        ("bash -lc \"ls 'a b'\"", "ls 'a b'"),
        (r"/bin/bash -lc 'echo '\''x'\'", "echo 'x'"),
        (r'/bin/bash -lc "echo \"x\""', 'echo "x"'),
        ("/bin/bash -lc ls", "ls"),
        ("/bin/bash -lc 'a' b", "/bin/bash -lc 'a' b"),
        ("/bin/bash -lc 'a", "/bin/bash -lc 'a"),
    ],
)
def test_the_command_in_a_shell(text: str, inner: str):
    assert inner_command(text) == inner
