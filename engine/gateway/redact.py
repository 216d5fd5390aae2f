"""Takes a key out of a stream of bytes, also where it is cut in two."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote

from engine.gateway.keys import Secret


class Redactor:
    """For one answer.

    Args:
        secret: what must not pass; None lets everything pass.
    """

    MARK = b"[key]"

    def __init__(self, secret: Secret | None) -> None:
        self._rest = b""
        self._pattern: re.Pattern[bytes] | None = None
        self._forms: list[bytes] = []
        if secret is not None:
            text = secret.reveal()
            forms = {
                text.encode(),
                json.dumps(text)[1:-1].encode(),
                quote(text, safe="").encode(),
                base64.b64encode(text.encode()),
                base64.urlsafe_b64encode(text.encode()).rstrip(b"="),
            }
            self._forms = sorted(forms, key=len, reverse=True)
            self._pattern = re.compile(b"|".join(re.escape(form) for form in self._forms))

    def feed(self, data: bytes) -> bytes:
        """The bytes that may go out now; only what may be the key's beginning is kept back."""
        if self._pattern is None:
            return data
        whole = self._pattern.sub(self.MARK, self._rest + data)
        kept = max((self._begun(whole, form) for form in self._forms), default=0)
        cut = len(whole) - kept
        self._rest = whole[cut:]
        return whole[:cut]

    @staticmethod
    def _begun(data: bytes, form: bytes) -> int:
        """Length of the longest end of `data` that is a beginning of `form`."""
        most = min(len(data), len(form) - 1)
        return next((n for n in range(most, 0, -1) if data.endswith(form[:n])), 0)

    def end(self) -> bytes:
        """What was kept back, at the end of the answer."""
        rest, self._rest = self._rest, b""
        return rest
