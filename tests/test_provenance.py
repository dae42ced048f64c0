"""Which commit a number belongs to, with git and without."""

from __future__ import annotations

import subprocess

import torch

from graphscore.provenance import commit, provenance


def test_a_checkout_tells_its_own_commit(tmp_path, monkeypatch):
    """Whatever the current folder is."""
    monkeypatch.chdir(tmp_path)
    repository = tmp_path / "repository"
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    git = ["git", "-C", str(repository), *identity]
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "first"], check=True)
    command = [*git, "rev-parse", "--short", "HEAD"]
    expected = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert commit(repository) == expected
    # What was written down wins: a copy may have the history of another place.
    (repository / "COMMIT").write_text("another\n")
    assert commit(repository) == "another"


def test_without_git_a_file_tells_it(tmp_path, monkeypatch):
    assert commit(tmp_path) is None
    (tmp_path / "COMMIT").write_text("abc1234\n")
    assert commit(tmp_path) == "abc1234"
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit(tmp_path) == "abc1234"


def test_the_machine_is_described():
    made = provenance()
    assert made["device"] == "CPU"
    assert made["torch"] == torch.__version__
    assert made["threads"] == torch.get_num_threads()
