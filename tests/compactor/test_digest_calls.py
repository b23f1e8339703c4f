"""What a digest says of a tool call."""

from __future__ import annotations

import json

from compactor.digest.calls import Call


def test_the_value_that_is_shown_with_a_call_is_no_secret() -> None:
    """The name of the argument tells that, and is not shown itself."""
    call = Call("update_login", "c1", json.dumps({"password": "Rot-Fuchs"}))
    assert call.label == "update_login([redacted:password])"


def test_a_path_is_named_without_the_secret_in_it() -> None:
    """A path may be a link."""
    path = "/srv/ghp_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" + "/a.txt"  # made up
    call = Call("read_file", "c1", json.dumps({"path": path}))
    assert call.paths == ["/srv/[redacted:github_token]/a.txt"]
