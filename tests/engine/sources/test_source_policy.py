from __future__ import annotations

import json
import sqlite3
from itertools import count
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import audit
from engine.base.errors import M4Error, StorageFull, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.cli.main import run
from engine.sources import (
    allow_provider,
    find_source,
    known_source,
    may_export,
    permit,
    remove_source,
    revoke,
    source_policy,
)
from engine.sources import policy as policy_module
from engine.sources.registry import forget
from engine.sources.seal import seal
from engine.sources.state import source_rows
from engine.sources.synthetic import synthesize_source

AT = "https://api.openai.com"
ACCESS = ("synthetic", "open", "credentialed")
_names = count()


def registered(home: Home, access: str, name: str | None = None, *, ready: bool = True) -> str:
    """A source as `state.db` knows it, with an empty database."""
    name = name or f"s{next(_names)}"
    path = home.sources / name / "source.duckdb"
    path.parent.mkdir(parents=True)
    duckdb.connect(str(path)).close()
    seal(path)
    with source_rows(home) as rows:
        rows.begin(name, "eicu", access, "mark")  # type: ignore[arg-type]
        if ready:
            rows.finish(name, access, 1, "digest", [])  # type: ignore[arg-type]
    return name


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return open_home(tmp_path_factory.mktemp("policy") / "home")


@pytest.fixture
def home(home_dir: Path) -> Home:
    return open_home(home_dir)


@pytest.mark.parametrize("access", ["synthetic", "open"])
def test_free_sources_are_free(home: Home, access: str):
    name = registered(home, access)
    assert permit(home, name, "anybody", host=AT).allowed
    assert may_export(home, name).confirm is None
    with pytest.raises(UsageError, match="anyway"):
        allow_provider(home, name, "openai", host=AT, by="Ann", why="why not")


def test_credentialed_data_stays_here_until_somebody_says_so(home: Home):
    name = registered(home, "credentialed")
    refused = permit(home, name, "openai", host=AT)
    assert not refused.allowed
    assert f"m4bench source policy {name} --allow openai" in refused.why
    assert permit(home, name, "ollama", host=AT, local=True).allowed
    assert not permit(home, name, "ollama", host=AT).allowed  # a name proves nothing
    allow_provider(home, name, "OpenAI", host=AT, by="Ann Bell", why="Azure agreement of 3 May")
    given = permit(home, name, "openai", host=AT)
    assert given.allowed
    assert "Ann Bell" in given.why
    assert "Azure agreement" in given.why
    assert not permit(home, name, "anthropic", host=AT).allowed
    entry = audit.read_log(home, source=name)[-1]
    assert (entry.what, entry.object) == ("source.policy", "openai")
    assert (entry.facts["by"], entry.facts["act"]) == ("Ann Bell", "allow")
    assert "yes" not in (may_export(home, name).confirm or "yes")
    revoke(home, name)
    assert not permit(home, name, "openai", host=AT).allowed
    assert [r.act for r in source_policy(home, name).history] == ["allow", "local-only"]


def test_a_source_of_the_same_name_inherits_nothing(home: Home):
    name = registered(home, "credentialed", "mimic")
    allow_provider(home, name, "openai", host=AT, by="Ann", why="agreed")
    remove_source(home, name)
    with pytest.raises(UsageError):
        permit(home, name, "openai", host=AT)
    registered(home, "credentialed", "mimic")
    assert not permit(home, name, "openai", host=AT).allowed
    assert source_policy(home, name).history == ()


def test_a_source_that_another_program_changed_counts_as_credentialed(home: Home):
    info = synthesize_source(home, "made", kind="eicu", stays=3, job=SimpleJob())
    assert permit(home, "made", "openai", host=AT).allowed
    with duckdb.connect(str(info.path)) as con:
        con.execute("INSERT INTO eicu_crd.patient SELECT * FROM eicu_crd.patient LIMIT 1")
    refused = permit(home, "made", "openai", host=AT)
    assert not refused.allowed
    assert "changed by another program" in refused.why
    assert may_export(home, "made").confirm
    # ... and for good, when it has been looked at again: nobody knows what came into it.
    assert known_source(home, "made", job=SimpleJob()).access == "credentialed"
    assert not permit(home, "made", "openai", host=AT).allowed
    assert audit.read_log(home, source="made")[-1].what == "source.changed-outside"


def test_a_touch_without_a_change_makes_nothing_credentialed(home: Home):
    info = synthesize_source(home, "made", kind="eicu", stays=3, job=SimpleJob())
    info.path.touch()
    assert known_source(home, "made", job=SimpleJob()).access == "synthetic"
    assert permit(home, "made", "openai", host=AT).allowed


def test_nothing_is_allowed_before_it_is_known_what_it_is(home: Home):
    name = registered(home, "open", ready=False)
    assert not permit(home, name, "openai", host=AT).allowed
    with pytest.raises(UsageError, match="not finished"):
        allow_provider(home, name, "openai", host=AT, by="Ann", why="agreed")


@pytest.mark.parametrize(
    ("provider", "by", "why"),
    [("", "Ann", "x"), ("open ai", "Ann", "x"), ("openai", " ", "x"), ("openai", "Ann", "\n")],
)
def test_who_and_why_must_be_said(home: Home, provider: str, by: str, why: str):
    name = registered(home, "credentialed")
    with pytest.raises(UsageError):
        allow_provider(home, name, provider, host=AT, by=by, why=why)
    assert source_policy(home, name).history == ()


def test_what_cannot_be_recorded_is_not_allowed(home: Home, monkeypatch: pytest.MonkeyPatch):
    name = registered(home, "credentialed")

    def full(*_: object, **__: object) -> None:
        raise StorageFull("full")

    monkeypatch.setattr(policy_module.audit, "note", full)
    with pytest.raises(StorageFull):
        allow_provider(home, name, "openai", host=AT, by="Ann", why="agreed")
    assert not permit(home, name, "openai", host=AT).allowed


def test_rulings_cannot_be_changed_or_removed(home: Home):
    name = registered(home, "credentialed")
    allow_provider(home, name, "openai", host=AT, by="Ann", why="agreed")
    revoke(home, name, "openai")
    con = sqlite3.connect(home.state)
    for sql in ("DELETE FROM source_rulings", "UPDATE source_rulings SET act = 'allow'"):
        with pytest.raises(sqlite3.IntegrityError, match="for ever"):
            con.execute(sql)
    con.close()


def test_an_older_state_file_goes_on(home: Home):
    name = registered(home, "credentialed")
    con = sqlite3.connect(home.state)
    con.executescript(
        "DROP TABLE source_rulings; ALTER TABLE sources DROP COLUMN registration; "
        "DELETE FROM _steps WHERE name IN ('sources/002-policy', 'sources/003-hosts');"
    )
    con.close()
    allow_provider(home, name, "openai", host=AT, by="Ann", why="agreed")
    assert permit(home, name, "openai", host=AT).allowed
    with source_rows(home) as rows:
        assert rows.names() == [name]


def test_what_was_allowed_before_hosts_were_kept_holds_no_more(home: Home):
    name = registered(home, "credentialed")
    with source_rows(home) as rows:
        words = {"act": "allow", "provider": "openai", "by": "Ann", "why": "x", "actor": "ann"}
        rows.add_ruling(name, at="2026-01-01T00:00:00+00:00", **words)
    assert not permit(home, name, "openai", host=AT).allowed
    assert source_policy(home, name).providers == ()
    allow_provider(home, name, "openai", host=AT, by="Ann", why="agreed")
    assert permit(home, name, "openai", host=AT).allowed


def test_a_permission_belongs_to_the_host(home: Home):
    name = registered(home, "credentialed")
    allow_provider(home, name, "openai", host=AT, by="Ann", why="agreed")
    for elsewhere in ("https://api.openai.com:8443", "http://api.openai.com", "https://other.org"):
        refused = permit(home, name, "openai", host=elsewhere)
        assert not refused.allowed
        assert f"Ann allowed openai at {AT}" in refused.why
        assert f"at {elsewhere} now" in refused.why
    assert audit.read_log(home, source=name)[-1].facts["host"] == AT
    allow_provider(home, name, "openai", host="https://other.org", by="Ann", why="agreed")
    assert permit(home, name, "openai", host="https://other.org").allowed
    assert not permit(home, name, "openai", host=AT).allowed  # one host at a time


PROVIDERS = ("openai", "anthropic", "google")
acts = st.lists(
    st.one_of(
        st.tuples(st.just("allow"), st.sampled_from(PROVIDERS)),
        st.tuples(st.just("revoke"), st.sampled_from(PROVIDERS)),
        st.tuples(st.just("local-only"), st.none()),
        st.tuples(st.just("again"), st.none()),
    ),
    max_size=8,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=acts)
def test_any_history(shared_home: Home, acts: list[tuple[str, str | None]]):
    """Allowed is who was allowed last and not taken back, in this registration; nobody else."""
    home = shared_home
    name = registered(home, "credentialed")
    expected: set[str] = set()
    kept = 0
    for act, provider in acts:
        if act == "allow":
            assert provider is not None
            allow_provider(home, name, provider, host=AT, by="Ann", why="agreed")
            expected.add(provider)
        elif act == "again":
            forget(home, name)
            registered(home, "credentialed", name)
            expected, kept = set(), -1
        elif act == "revoke" and provider not in expected:
            with pytest.raises(M4Error):
                revoke(home, name, provider)
            kept -= 1
        else:
            revoke(home, name, provider)
            expected -= {provider} if provider else set(PROVIDERS)
        kept += 1
        assert {p for p in PROVIDERS if permit(home, name, p, host=AT).allowed} == expected
        policy = source_policy(home, name)
        assert set(policy.providers) == expected
        assert len(policy.history) == kept
    assert find_source(home, name).access == "credentialed"


def test_the_command(home: Home, capsys: pytest.CaptureFixture[str]):
    name = registered(home, "credentialed", "mimic")
    assert run(["source", "policy", name]) == 0
    assert "Only models on this machine" in capsys.readouterr().out
    assert run(["source", "policy", name, "--allow", "openai"]) == 2
    assert "--by" in capsys.readouterr().err
    words = ["--allow", "openai", "--by", "Ann Bell", "--why", "agreed"]
    assert run(["source", "policy", name, *words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["providers"], told["free"]) == (["openai"], False)
    assert told["hosts"] == {"openai": AT}
    assert (told["history"][0]["by"], told["history"][0]["host"]) == ("Ann Bell", AT)
    assert run(["source", "show", name]) == 0
    assert f"openai at {AT} may see it" in capsys.readouterr().out
    assert run(["source", "policy", name, "--local-only", "--allow", "x"]) == 2
    capsys.readouterr()
    assert run(["source", "policy", name, "--revoke", "openai"]) == 0
    assert f"allow openai at {AT} by Ann Bell: agreed (no longer)" in capsys.readouterr().out


def test_the_audit_command(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    name = registered(home, "credentialed", "mimic")
    allow_provider(home, name, "openai", host=AT, by="Ann", why="agreed")
    assert run(["audit", "list", "--json"]) == 0
    [entry] = json.loads(capsys.readouterr().out)
    assert entry["what"] == "source.policy"
    assert run(["audit", "list", "--source", "other"]) == 0
    assert "(none)" in capsys.readouterr().out
    assert run(["audit", "verify", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["last_hash"] == entry["hash"]
    home.audit.write_bytes(home.audit.read_bytes().replace(b"Ann", b"Bob"))
    assert run(["audit", "verify"]) == 1
    told = capsys.readouterr()
    assert "Entry 1 was changed" in told.out
    assert "tampered" in told.err
    assert run(["audit", "verify", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False
    assert run(["audit", "export", str(tmp_path / "copy.jsonl")]) == 1
    assert (tmp_path / "copy.jsonl").read_bytes() == home.audit.read_bytes()
    assert run(["audit", "list"]) == 0
    assert "does not hold" in capsys.readouterr().err
    # Every command says so, and goes on.
    assert run(["source", "policy", name]) == 0
    said = capsys.readouterr()
    assert "does not hold" in said.err
    assert f"openai at {AT} may see it" in said.out
