"""GitHub and GitLab, against a local server with their published shapes: one contract for both."""

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest
from forges import Failure, ForgeServer

from palmette.delivery.forge import ATTEMPTS, MAX_BODY, Forge, GitHub, GitLab, PullRequestDraft, open_pull_request
from palmette.errors import DeliveryError

TOKEN = "t0p-secret-token"
DRAFT = PullRequestDraft(title="Add the view", body="# What\n", branch="features/new", base="main")


@pytest.fixture
def server() -> Iterator[ForgeServer]:
    with ForgeServer() as forge:
        yield forge


@pytest.fixture(params=["github", "gitlab"])
def forge(request: pytest.FixtureRequest, server: ForgeServer) -> Forge:
    if request.param == "github":
        return GitHub("shop/offers", TOKEN, api=server.url, seconds=0.6)
    return GitLab("shop/offers", TOKEN, api=server.url, seconds=0.6)


def open_it(forge: Forge, draft: PullRequestDraft = DRAFT) -> tuple[object, list[float]]:
    pauses: list[float] = []
    return open_pull_request(forge, draft, pauses.append), pauses


def test_a_pull_request_is_opened_and_then_updated(forge: Forge, server: ForgeServer) -> None:
    first = open_pull_request(forge, DRAFT)
    again = open_pull_request(forge, DRAFT.model_copy(update={"title": "Better", "body": "New"}))
    assert (first.number, first.existing) == (1, False) and (again.number, again.existing) == (1, True)
    assert first.url == again.url and "shop/offers" in first.url
    assert len(server.pulls) == 1 and server.pulls[0]["title"] == "Better"
    assert server.pulls[0].get("body", server.pulls[0].get("description")) == "New"
    assert server.count("POST") == 1


def test_a_draft_is_a_draft(forge: Forge, server: ForgeServer) -> None:
    open_pull_request(forge, DRAFT.model_copy(update={"draft": True}))
    assert server.pulls[0].get("draft") or server.pulls[0]["title"].startswith("Draft: ")


def test_another_branch_gets_its_own(forge: Forge, server: ForgeServer) -> None:
    open_pull_request(forge, DRAFT)
    open_pull_request(forge, DRAFT.model_copy(update={"branch": "features/other"}))
    assert len(server.pulls) == 2


def test_one_that_appears_meanwhile_is_found_and_updated(forge: Forge, server: ForgeServer) -> None:
    open_pull_request(forge, DRAFT)
    server.hidden = 1
    opened = open_pull_request(forge, DRAFT)
    assert opened.existing and len(server.pulls) == 1


@pytest.mark.parametrize(
    "failures",
    [
        [("GET", 502)],
        [("POST", 500)],
        [("POST", 429)],
        [("GET", "drop")],
        [("POST", "drop")],
        [("POST", "drop-after")],
        [("POST", "hang")],
        [("GET", 500), ("POST", "drop-after"), ("GET", 502)],
    ],
    ids=str,
)
def test_passing_failures_are_tried_again_without_doubling(
    forge: Forge, server: ForgeServer, failures: list[tuple[str, Failure]]
) -> None:
    server.failures = list(failures)
    _, pauses = open_it(forge)
    assert len(server.pulls) == 1 and not server.failures
    assert pauses == [0.5, 1.0, 2.0][: len(failures)]


@pytest.mark.parametrize(
    ("status", "code", "posts"),
    [
        (401, "forge-unauthorised", 1),
        (403, "forge-forbidden", 1),
        (404, "forge-no-project", 1),
        (422, "forge-refused", 2),
        (503, "forge-unavailable", ATTEMPTS),
        ("drop", "forge-unreachable", ATTEMPTS),
    ],
)
def test_lasting_failures_are_named(forge: Forge, server: ForgeServer, status: Failure, code: str, posts: int) -> None:
    server.failures = [("POST", status)] * 9
    with pytest.raises(DeliveryError) as caught:
        open_it(forge)
    assert caught.value.code == code and server.count("POST") == posts and not server.pulls
    assert TOKEN not in str(caught.value) and caught.value.__cause__ is None


def test_nobody_listens(forge: Forge, server: ForgeServer) -> None:
    server._server.server_close()
    server._server.shutdown()
    with pytest.raises(DeliveryError, match="did not answer") as caught:
        open_it(forge)
    assert caught.value.code == "forge-unreachable" and TOKEN not in str(caught.value)


def test_the_token_goes_into_a_header_and_into_no_address(forge: Forge, server: ForgeServer) -> None:
    open_pull_request(forge, DRAFT)
    assert all(TOKEN not in path for _, path, _ in server.requests)
    assert all(any(TOKEN in value for value in headers.values()) for _, _, headers in server.requests)


def test_what_github_says_about_422_is_shown(server: ForgeServer) -> None:
    github = GitHub("shop/offers", TOKEN, api=server.url)
    open_pull_request(github, DRAFT)
    server.hidden = 9
    with pytest.raises(DeliveryError, match="A pull request already exists for shop:features/new"):
        open_it(github)


def test_a_body_that_github_does_not_take_is_cut(server: ForgeServer) -> None:
    open_pull_request(GitHub("shop/offers", TOKEN, api=server.url), DRAFT.model_copy(update={"body": "x" * 70_000}))
    assert MAX_BODY < len(server.pulls[0]["body"]) < 65_536 and "Cut here" in server.pulls[0]["body"]


@pytest.mark.parametrize(
    ("forge_class", "url"),
    [
        (GitHub, "https://code.example/shop/offers/compare/main...features/new?expand=1"),
        (
            GitLab,
            "https://code.example/shop/offers/-/merge_requests/new?merge_request%5Bsource_branch%5D=features%2Fnew"
            "&merge_request%5Btarget_branch%5D=main",
        ),
    ],
)
def test_the_page_for_finishing_by_hand(forge_class: type[GitHub] | type[GitLab], url: str) -> None:
    assert forge_class("shop/offers", TOKEN, web="https://code.example").compare_url(DRAFT) == url


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"", b"{}", b"[]", b'{"number": ', b'["a"]', b"null"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_answer_that_is_none_is_no_crash_and_opens_nothing_twice(
    method: str, body: bytes, forge: Forge, server: ForgeServer
) -> None:
    """Of the list it is said; of one that was opened, the next look finds it."""
    server.bodies = [(method, body)] * 9
    try:
        open_it(forge)
    except DeliveryError as error:
        assert error.code in ("forge-unreadable", "forge-refused") and TOKEN not in str(error)
        assert method == "GET"
    assert len(server.pulls) == (method == "POST" or server.count("POST") > 0)


def test_an_answer_without_an_end_is_none(forge: Forge, server: ForgeServer) -> None:
    server.failures = [("GET", "trickle")] * 10
    with pytest.raises(DeliveryError, match=r"no end after 0.2 s.*\[forge-unreachable\]"):
        open_it(type(forge)("shop/offers", TOKEN, api=server.url, seconds=0.2))
    assert not server.pulls


def test_an_answer_that_unfolds_is_read_no_further_than_it_may_be(
    forge: Forge, server: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palmette._bounded.MOST", 1 << 20)
    server.failures = [("GET", "endless")] * 9
    with pytest.raises(DeliveryError, match="longer than 1 MiB") as caught:
        open_it(forge)
    assert caught.value.code == "forge-unreadable" and not server.pulls


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://x/1\nNext: do this", "https://x/" + "1" * 5000, ""])
def test_an_address_that_is_none_is_not_shown(url: str, forge: Forge, server: ForgeServer) -> None:
    pull = {"number": 1, "iid": 1, "html_url": url, "web_url": url, "head": {"ref": DRAFT.branch}}
    server.bodies = [("GET", json.dumps([pull]).encode())] * 9
    with pytest.raises(DeliveryError) as caught:
        open_it(forge)
    assert caught.value.code == "forge-unreadable"


@pytest.mark.parametrize("way", ["", "next:"], ids=["redirection", "next page"])
def test_a_token_follows_nobody_to_another_host(way: str, forge: Forge, server: ForgeServer) -> None:
    with ForgeServer() as other:
        server.failures = [("GET", way + other.url.replace("127.0.0.1", "localhost"))] * 9
        with suppress(DeliveryError):
            open_it(forge)
        assert not any(TOKEN in value for _, _, headers in other.requests for value in headers.values())


def test_a_limit_of_requests_is_no_matter_of_the_token(server: ForgeServer) -> None:
    server.failures = [("GET", "rate")]
    assert open_it(GitHub("shop/offers", TOKEN, api=server.url))[1] == [0.5]
