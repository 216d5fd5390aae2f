"""Endpoints by https: the certificate has to be one that is trusted, whatever the policy says."""

from __future__ import annotations

import datetime as dt
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from gateway_bench import PATHS, ask, body_of, opened

from engine.gateway.keys import Secret


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate for a host name, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / f"{name}.pem", folder / f"{name}.key"
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem, private


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.server.keys.append(self.headers["x-api-key"])  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"usage": {"input_tokens": 3, "output_tokens": 4}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ThreadingHTTPServer]:
    pem, private = certificate(tmp_path, "localhost")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem, private)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as made:
        made.handle_error = lambda *_: None  # type: ignore[method-assign] # a refused handshake
        made.keys = []  # type: ignore[attr-defined]
        made.socket = context.wrap_socket(made.socket, server_side=True)
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("trusted", "host", "status", "why"),
    [
        ("localhost", "localhost", 200, None),
        ("other.test", "localhost", 502, "untrusted"),  # signed by nobody we know
        ("localhost", "127.0.0.1", 502, "untrusted"),  # for another name
    ],
)
def test_only_a_trusted_certificate_of_that_name(
    *,
    trusted: str,
    host: str,
    status: int,
    why: str | None,
    server: ThreadingHTTPServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if trusted != "localhost":
        certificate(tmp_path, trusted)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / f"{trusted}.pem"))
    url = f"https://{host}:{server.server_address[1]}"
    with opened(tmp_path, url, secret=Secret("sk-key-for-tls-123")) as run:
        answer = ask(run.folder, PATHS["messages"], body_of("messages"))
    assert answer.status == status
    assert run.lines()[0]["why"] == why
    assert run.stops == []
    keys = server.keys  # type: ignore[attr-defined]
    assert keys == (["sk-key-for-tls-123"] if why is None else [])
