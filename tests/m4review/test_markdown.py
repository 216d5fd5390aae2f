"""Texts from tasks, skills and agents can do nothing but be read."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from app_window import settle
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from m4review.app.markdown import SafeBrowser, safe_html, without_front_matter
from m4review.app.window import MainWindow


class Listener:
    """A server that counts who calls."""

    def __init__(self) -> None:
        self.calls = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.calls += 1
            connection.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


def hostile(port: int, file: Path) -> str:
    remote = f"http://127.0.0.1:{port}"
    return f"""# Title

![remote]({remote}/a.png) ![local]({file.as_uri()}) ![data](data:image/png;base64,AAAA)

<img src="{remote}/b.png"> <script>alert(1)</script>
<link rel="stylesheet" href="{remote}/c.css"><style>@import url({remote}/d.css)</style>
<div style="background: url({remote}/e.png)">x</div>
<table background="{remote}/f.png"><tr><td>y</td></tr></table>
<iframe src="{remote}/g"></iframe> <object data="{remote}/h"></object>

[script](javascript:alert(1)) [file]({file.as_uri()}) [web]({remote}/page)

| a | b |
|---|---|
| 1 | ![x]({remote}/i.png) |
"""


def test_hostile_markdown_makes_no_request(
    open_window: Callable[..., MainWindow], listener: Listener, tmp_path: Path
) -> None:
    picture = tmp_path / "secret.png"
    picture.write_bytes(b"\x89PNG")
    window = open_window()
    browser = SafeBrowser(window.context, "test")
    browser.setParent(window)
    browser.resize(600, 600)
    browser.show()
    browser.show_markdown(hostile(listener.port, picture))
    settle(window)
    assert listener.calls == 0
    assert browser.requested == []  # nothing was even asked for
    text = browser.toPlainText()
    assert "Title" in text
    assert "picture not shown: remote" in text
    socket.create_connection(("127.0.0.1", listener.port)).close()
    settle(window)
    assert listener.calls == 1  # the listener does hear who calls


def test_a_resource_that_gets_through_is_still_not_loaded(
    open_window: Callable[..., MainWindow], listener: Listener
) -> None:
    window = open_window()
    browser = SafeBrowser(window.context, "test")
    browser.setParent(window)
    browser.show()
    browser.setHtml(f'<img src="http://127.0.0.1:{listener.port}/a.png"><img src="/etc/hostname">')
    browser.grab()
    settle(window)
    assert len(browser.requested) >= 2
    assert listener.calls == 0


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x"]
)
def test_only_web_addresses_can_be_opened(
    open_window: Callable[..., MainWindow], address: str
) -> None:
    window = open_window(None, True)
    browser = SafeBrowser(window.context, "test")
    browser.setParent(window)
    browser.anchorClicked.emit(QUrl(address))
    said = window.context.interaction.said
    assert len(said) == 1
    assert "not opened" in said[0]


def test_a_web_address_is_shown_whole_and_opened_only_when_agreed(
    open_window: Callable[..., MainWindow],
) -> None:
    opened: list[str] = []

    window = open_window(None, False, True)
    browser = SafeBrowser(window.context, "test")
    browser.setParent(window)

    class Opener(QObject):
        @Slot(QUrl)
        def open(self, url: QUrl) -> None:
            opened.append(url.toString())

    opener = Opener()
    QDesktopServices.setUrlHandler("https", opener, "open")
    try:
        address = "https://example.org/a?b=c"
        browser.anchorClicked.emit(QUrl(address))
        assert opened == []
        assert address in window.context.interaction.said[0]
        browser.anchorClicked.emit(QUrl(address))
        assert opened == [address]
    finally:
        QDesktopServices.unsetUrlHandler("https")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="<>\"'=:/()[]!`#*|- \nabscriptjonlimgerhf&;%", max_size=120))
def test_nothing_written_becomes_an_active_tag(text: str) -> None:
    html = safe_html(text).lower()
    for tag in ("<script", "<img", "<iframe", "<style", "<link", "<object", "<svg", "<form"):
        assert tag not in html
    assert 'href="javascript' not in html


def test_markdown_is_rendered() -> None:
    html = safe_html("## Heading\n\n- **bold**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    for part in ("<h2>Heading</h2>", "<strong>bold</strong>", "<table>", "<td>2</td>"):
        assert part in html


def test_front_matter_is_left_out() -> None:
    assert without_front_matter("---\nname: x\n---\n\n# Body\n") == "# Body\n"
    assert without_front_matter("---\nnever closed\n") == "---\nnever closed\n"
    assert without_front_matter("# Body") == "# Body"
