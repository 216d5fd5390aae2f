"""Who may see what, keys that would move, a broken audit log: in the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from app_window import settle, until

from engine.base.paths import Home, open_home
from engine.gateway.endpoints import add_endpoint, find_endpoint, make_endpoint
from engine.gateway.local import host_of
from engine.sources.policy import permit
from engine.sources.seal import seal
from engine.sources.state import source_rows
from engine.workbench import Workbench
from m4review.app.links import MODELS
from m4review.app.window import MainWindow
from m4review.models.view import ModelsScreen

pytestmark = pytest.mark.gui
Open = Callable[..., MainWindow]


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with a credentialed source, as the state file knows it."""
    home = open_home(tmp_path / "home")
    path = home.sources / "closed" / "source.duckdb"
    path.parent.mkdir(parents=True)
    duckdb.connect(str(path)).close()
    seal(path)
    with source_rows(home) as rows:
        rows.begin("closed", "mimic-iv", "credentialed", "mark")
        rows.finish("closed", "credentialed", 1, "digest", [])
    return home


def models(window: MainWindow) -> ModelsScreen:
    window.go(MODELS)
    settle(window)
    screen = window.screens["models"]
    assert isinstance(screen, ModelsScreen)
    return screen


def rulings(window: MainWindow) -> list[tuple[str, str | None]]:
    entries = window.context.workbench.audit_log()
    return [(entry.what, entry.source) for entry in entries if entry.what == "source.policy"]


def allowed(home: Home) -> bool:
    host = host_of(find_endpoint(home, "openai"))
    return permit(home, "closed", "openai", host=host).allowed


def test_a_provider_is_allowed_by_name_and_reason_only(home: Home, open_window: Open):
    window = open_window(home.root, True, True)
    screen = models(window)
    screen.tabs.setCurrentIndex(1)
    assert screen.policy is not None
    assert screen.policy.source == "closed"
    assert "this machine" in str(screen.policies.index(0, 2).data())
    assert not allowed(home)
    assert rulings(window) == []
    offered = [screen.provider.itemText(at) for at in range(screen.provider.count())]
    assert "openai" in offered
    assert "ollama" not in offered  # on this machine: needs no permission
    screen.provider.setCurrentText("openai")
    screen.by.setText("Ada")
    screen.allow_button.click()  # without a reason
    until(window, lambda: screen.errors.error is not None)
    assert not allowed(home)
    screen.why.setText("agreement 12")
    screen.allow_button.click()
    until(window, lambda: screen.policy is not None and bool(screen.policy.providers))
    assert allowed(home)
    assert "openai" in str(screen.policies.index(0, 2).data())
    assert len(rulings(window)) == 1
    facts = str(window.context.workbench.audit_log()[-1].facts)
    assert "Ada" in facts
    assert "agreement 12" in facts
    assert screen.revoke_button.isEnabled()
    window.context.interaction.answers = [False, True]
    screen.allow_button.click()  # refused in the question: nothing is written
    settle(window)
    assert len(rulings(window)) == 1
    screen.revoke_button.click()
    until(window, lambda: screen.policy is not None and not screen.policy.providers)
    assert not allowed(home)
    assert len(rulings(window)) == 2


def test_a_key_goes_to_a_new_host_only_when_asked(home: Home, open_window: Open):
    add_endpoint(home, make_endpoint("mine", api="chat", url="https://one.example", key="mine"))
    window = open_window(home.root, False, True)
    screen = models(window)
    for widget, text in (
        (screen.name, "mine"), (screen.url, "https://two.example"), (screen.key, "mine")
    ):  # fmt: skip
        widget.setText(text)
    screen.add_button.click()
    until(window, lambda: len(window.context.interaction.said) == 1)
    assert "https://one.example:443" in str(window.context.interaction.said[0])
    assert find_endpoint(home, "mine").url == "https://one.example"
    screen.add_button.click()
    until(window, lambda: find_endpoint(home, "mine").url == "https://two.example")


def test_a_broken_audit_log_is_said_above_everything(home: Home, open_window: Open):
    bench = Workbench(home)
    for reason in ("first", "second"):
        bench.allow_provider("closed", "openai", by="Ada", why=reason)
    text = home.audit.read_text()
    home.audit.write_text(text.replace("first", "forged"))
    window = open_window(home.root)
    screen = models(window)
    assert screen.banner_frame.isVisible()
    assert "does not hold" in screen.banner.text()
    assert screen.verdict.text().startswith("✗")
    home.audit.write_text(text)
