"""Source files: where they are looked up, and downloads from servers that are not to be trusted."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import threading
import time
import tracemalloc
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphscore.datasets import download, https, load_dataset
from graphscore.datasets.download import Archive, data_folder, fetch
from graphscore.errors import DatasetError, OutputError

MEMBERS = {"a.txt": b"1, 2\n", "b.txt": b"1\n1\n"}
DIGESTS = {name: hashlib.sha256(content).hexdigest() for name, content in MEMBERS.items()}
WHOLE = {f"set/{name}": content for name, content in MEMBERS.items()}


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return buffer.getvalue()


Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes | Answer], Archive]]:
    """A server on this machine, without TLS; returns an archive at an address with this answer."""
    monkeypatch.setattr(https, "_HANDLERS", (*https._HANDLERS, urllib.request.HTTPHandler))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    answers: dict[str, Answer] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers[self.path](self)

        def log_message(self, *_: object) -> None: ...

    class Quiet(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None: ...  # the client hangs up

    service = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=service.serve_forever, args=(0.01,), daemon=True)
    thread.start()

    def give(answer: bytes | Answer) -> Archive:
        path = f"/{len(answers)}.zip"
        answers[path] = answer if callable(answer) else lambda request: reply(request, answer)
        return Archive("set", f"http://127.0.0.1:{service.server_port}{path}", DIGESTS)

    yield give
    service.shutdown()
    service.server_close()


def reply(
    request: http.server.BaseHTTPRequestHandler, content: bytes, length: object = None
) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(content) if length is None else length))
    request.end_headers()
    request.wfile.write(content)


def test_order_of_lookup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHSCORE_DATA", str(tmp_path / "variable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert data_folder() == tmp_path / "variable"
    monkeypatch.delenv("GRAPHSCORE_DATA")
    assert data_folder() == tmp_path / "cache" / "graphscore"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "graphscore"


def test_a_data_folder_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a home folder, by an impossible name, or behind a file: always what to do."""
    with pytest.raises(DatasetError, match=r"home directory.*GRAPHSCORE_DATA"):
        data_folder("~nobody-of-this-name/data")
    for folder in ("a\0b", "a\ud800b", "a" * 5000):
        with pytest.raises(DatasetError, match="GRAPHSCORE_DATA"):
            load_dataset("protein", data_dir=folder)
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(OutputError, match=r"circle.*Too many levels of symbolic links"):
        load_dataset("protein", data_dir=tmp_path / "circle")


def test_download_keeps_only_the_named_members(server, tmp_path: Path) -> None:
    root = tmp_path / "data"
    folder = fetch(server(packed({**WHOLE, "../escape.txt": b"no", "set/more.txt": b"no"})), root)
    assert folder == root / "set"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == MEMBERS
    assert [path.name for path in root.iterdir()] == ["set"]
    assert not (tmp_path / "escape.txt").exists()


def test_present_files_need_no_network(server, tmp_path: Path) -> None:
    fetch(server(packed(WHOLE)), tmp_path / "data")
    fetch(Archive("set", "https://127.0.0.1:1/set.zip", DIGESTS), tmp_path / "data")


def test_a_half_filled_folder_is_completed(server, tmp_path: Path) -> None:
    archive = server(packed(WHOLE))
    folder = fetch(archive, tmp_path / "data")
    (folder / "b.txt").unlink()
    (folder / "mine.txt").write_text("kept")
    fetch(archive, tmp_path / "data")
    assert {path.name for path in folder.iterdir()} == {"a.txt", "b.txt", "mine.txt"}


def test_damaged_local_file(server, tmp_path: Path) -> None:
    archive = server(packed(WHOLE))
    folder = fetch(archive, tmp_path / "data")
    (folder / "a.txt").write_bytes(b"1, 3\n")
    with pytest.raises(DatasetError, match=r"a\.txt is damaged.*sha256.*expected.*Delete it"):
        fetch(archive, tmp_path / "data")
    assert (folder / "a.txt").read_bytes() == b"1, 3\n"


def test_damaged_download_leaves_nothing(server, tmp_path: Path) -> None:
    archive = server(packed({"set/a.txt": MEMBERS["a.txt"], "set/b.txt": b"other"}))
    with pytest.raises(DatasetError, match=r"b\.txt has sha256 .* nothing was kept"):
        fetch(archive, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def refused(archive: Archive, tmp_path: Path) -> str:
    """Return the message of a download that must fail and leave nothing."""
    with pytest.raises(DatasetError) as caught:
        fetch(archive, tmp_path / "data")
    message = str(caught.value)
    for part in (str(tmp_path / "data" / "set"), "a.txt, b.txt", archive.url, "GRAPHSCORE_DATA"):
        assert part in message
    assert not (tmp_path / "data").exists()
    return message


def absent(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_error(404)


def silent_end(request: http.server.BaseHTTPRequestHandler) -> None:
    request.close_connection = True


def too_long(request: http.server.BaseHTTPRequestHandler) -> None:
    reply(request, packed(WHOLE), length=10**9)


def short(request: http.server.BaseHTTPRequestHandler) -> None:
    reply(request, packed(WHOLE), length=100_000)


def cut(request: http.server.BaseHTTPRequestHandler) -> None:
    reply(request, packed(WHOLE), length=50)


def no_http(request: http.server.BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"220 mail\r\n\r\n")


FAILING: dict[str, tuple[bytes | Answer, str]] = {
    "absent": (absent, "404"),
    "not a zip": (b"<html>moved</html>", "not a zip"),
    "lacks a member": (packed({"set/a.txt": b""}), "b.txt"),
    "answers nothing": (silent_end, "closed"),
    "answers in another protocol": (no_http, "220 mail"),
    "claims to be large": (too_long, "1000000000 bytes, more than"),
    "claims more than it sends": (short, "of 100000 bytes"),
    "claims less than it sends": (cut, "not a zip"),
    "unusual compression": (packed(WHOLE, zipfile.ZIP_BZIP2), "unusual"),
}


@pytest.mark.parametrize("kind", FAILING)
def test_failed_download_says_what_to_put_where(
    server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(https, "CONNECTION_SECONDS", 10)
    answer, words = FAILING[kind]
    assert words in refused(server(answer), tmp_path)


def test_a_server_that_sends_for_ever_is_left(
    server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 2**18)
    sent, hung_up = [], threading.Event()

    def endless(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            while True:
                request.wfile.write(bytes(2**16))
                sent.append(2**16)
        except OSError:
            hung_up.set()

    assert "more than the 262144 bytes allowed" in refused(server(endless), tmp_path)
    assert hung_up.wait(60)
    assert sum(sent) < 2**26  # what the sockets hold, and no more


@pytest.mark.parametrize("where", ["header", "content"])
def test_a_server_that_drips_is_left(
    server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(https, "TOTAL_SECONDS", 1)
    done = threading.Event()

    def drip(request: http.server.BaseHTTPRequestHandler) -> None:
        start = b"HTTP/1.1 200 OK\r\n" + (b"" if where == "header" else b"\r\n")
        request.wfile.write(start)
        while not done.is_set():
            request.wfile.write(b"x")
            time.sleep(0.05)

    assert "not complete after 1 s" in refused(server(drip), tmp_path)
    done.set()


def test_a_silent_server_is_left(server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https, "CONNECTION_SECONDS", 0.2)
    done = threading.Event()
    assert "timed out" in refused(server(lambda _: done.wait(60) and None), tmp_path)
    done.set()


def test_a_member_that_unpacks_to_too_much_is_refused(
    server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 2**16)
    bomb = packed({"set/a.txt": bytes(2**22), "set/b.txt": b""})
    assert len(bomb) < 2**16
    tracemalloc.start()
    message = refused(server(bomb), tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "a.txt has more than the 65536 bytes allowed" in message
    assert peak < 2**21


def redirection(address: str) -> Answer:
    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", address)
        request.end_headers()

    return answer


def test_a_redirection_is_followed(server, tmp_path: Path) -> None:
    folder = fetch(server(redirection(server(packed(WHOLE)).url)), tmp_path / "data")
    assert {path.name for path in folder.iterdir()} == set(MEMBERS)


def test_only_https_is_spoken(tmp_path: Path) -> None:
    (tmp_path / "set.zip").write_bytes(packed(WHOLE))
    for url in ((tmp_path / "set.zip").as_uri(), "http://127.0.0.1:1/x", "ftp://127.0.0.1:1/x"):
        assert "unknown url type" in refused(Archive("set", url, DIGESTS), tmp_path)


@pytest.mark.parametrize("scheme", ["http", "ftp", "file"])
def test_a_redirection_leads_to_https_only(
    server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """The server itself is spoken to without TLS; where it leads, only https is."""
    whole = server(packed(WHOLE))
    (tmp_path / "set.zip").write_bytes(packed(WHOLE))
    addresses = {
        "http": whole.url,
        "ftp": "ftp://127.0.0.1:1/set.zip",
        "file": (tmp_path / "set.zip").as_uri(),
    }

    class First(urllib.request.HTTPHandler):
        def http_open(self, request: urllib.request.Request) -> object:
            return None if request.full_url == whole.url else super().http_open(request)

    monkeypatch.setattr(https, "_HANDLERS", (*https._HANDLERS[:-1], First))
    message = refused(server(redirection(addresses[scheme])), tmp_path)
    assert "unknown url type" in message or "not allowed" in message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_in_the_data_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for name in MEMBERS:
        os.mkfifo(tmp_path / "set" / name)
    with pytest.raises(DatasetError, match=r"a\.txt is a named pipe, but a regular file"):
        fetch(Archive("set", "https://127.0.0.1:1/set.zip", DIGESTS), tmp_path)


def test_a_folder_that_cannot_be_written_is_found_before_the_download(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(OutputError, match="is a file and not a folder"):
        fetch(Archive("set", "https://127.0.0.1:1/set.zip", DIGESTS), tmp_path / "data")
