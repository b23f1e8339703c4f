"""What is found in a text, and what is not, held against lines that were labelled by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.identifiers.find import Identifier, find_identifiers
from compactor.identifiers.rules import IdentifierKind
from compactor.redact import redact
from tests.compactor.labelled import read_lines, score_lines

LINES = read_lines()

# Made up, and put together here, so that no scanner of repositories takes them for real ones.
_TAIL = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
SECRETS = [
    "sk-ant-" + "api03-" + _TAIL,
    "sk-" + "proj-" + _TAIL,
    "ghp_" + _TAIL,
    "xoxb-" + "123456789012-" + _TAIL,
    "AKIA" + "QWERTYUIOP234567",
    "hf_" + _TAIL,
    "123456789:" + "AA" + _TAIL + "q",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + _TAIL,
    "4111 1111" + " 1111 1111",
    _TAIL,
    _TAIL + _TAIL + "/" + _TAIL + "+" + _TAIL + "==",
]
FRAMES = [
    "use {}, please",
    "`{}`",
    '"{}"',
    "order no. {}",
    "https://example.com/?token={}",
    '{{"api_key": "{}", "id": 7}}',
    "\uff08{}\uff09",
]


def texts_of(text: str) -> list[str]:
    """Return the texts of what is found."""
    return [one.text for one in find_identifiers(text)]


@pytest.mark.parametrize("half", ["held out", "tuned"])
def test_nine_of_ten_finds_are_right_and_nine_of_ten_labels_are_found(half: str) -> None:
    """By kind and by every character, in the half that was held out as in the other one."""
    score = score_lines(LINES[half])
    summary = f"precision {score.precision:.3f}, recall {score.recall:.3f}"
    assert min(score.precision, score.recall) > 0.9, "\n".join([summary, *score.faults])


def test_the_labelled_lines_are_many_and_many_hold_nothing() -> None:
    """A small or a kind file would prove nothing."""
    counts = {half: len(lines) for half, lines in LINES.items()}
    bare = sum(not line.wanted for lines in LINES.values() for line in lines)
    kinds = {kind for lines in LINES.values() for line in lines for kind, _ in line.wanted}
    assert min(counts.values()) >= 100
    assert sum(counts.values()) >= 200
    assert bare >= 40
    assert kinds == {str(kind) for kind in IdentifierKind}


def test_identifiers_come_in_the_order_of_the_text() -> None:
    """Whatever rule found them."""
    text = "`make_tea` on 2026-03-02 at 14:30 for $5, see docs/tea.md"
    assert [one.kind for one in find_identifiers(text)] == [
        IdentifierKind.CODE,
        IdentifierKind.DATE,
        IdentifierKind.TIME,
        IdentifierKind.AMOUNT,
        IdentifierKind.PATH,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "https://docs.example.com:8443/v1.2.3/a/b.py?id=550e8400-e29b-41d4-a716-446655440000",
        "postgres://app@db.example.net:5432/orders_2026",
        "ops@mail.example.com",
        "/srv/2026-03-02/ORD-12345/v1.2.3/report.pdf",
    ],
)
def test_nothing_is_found_again_within_a_longer_one(text: str) -> None:
    """The host of a URL, the date in a path: the whole names them."""
    assert texts_of(f"see {text}, please") == [text]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(see https://example.com/a).", "https://example.com/a"),
        ("https://example.com/a_(b)!", "https://example.com/a_(b)"),
        ("[guide](https://example.com/a)", "https://example.com/a"),
        ("**docs/a.md**,", "docs/a.md"),
        ("【docs/a.md】。", "docs/a.md"),
        ("\uff08a@example.com\uff09\uff0c", "a@example.com"),
        ("src/a.py:12:5: error", "src/a.py"),
        ("„Haus Seeblick“.", "Haus Seeblick"),
    ],
)
def test_brackets_and_punctuation_of_the_sentence_stay_outside(text: str, found: str) -> None:
    """Half-width and full-width, and what Markdown puts around."""
    assert texts_of(text) == [found]


def test_no_figure_goes_on_in_the_next_line() -> None:
    """In a list, the number of one line is nothing to the currency of the next."""
    assert texts_of("Case 00158832\nUSD 185\n- 14\nUhr") == ["00158832", "USD 185"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Kundennummer 88 12 34", ["88 12 34"]),
        ("Kundennummer: 88 12 34.", ["88 12 34"]),
        ("Kundennummer 88 1 2 34", []),
        ("order no. 88123", ["88123"]),
    ],
)
def test_of_a_number_in_groups_all_or_nothing_is_found(text: str, found: list[str]) -> None:
    """A piece of it names nothing."""
    assert texts_of(text) == found


@pytest.mark.parametrize("text", ["282832, 1f1f24", "1f1f24 / 282832", "#1f1f24, 282832"])
def test_six_digits_beside_a_colour_are_a_colour(text: str) -> None:
    """Without its sign it is no name; alone it may be a number that somebody looks up."""
    assert "282832" not in texts_of(text)
    assert texts_of("order 282832, then") == ["282832"]


def test_a_comma_behind_a_word_separates() -> None:
    """Half-width or full-width; between digits only the full-width one does."""
    assert texts_of("6人,150元\uff0c20元 (20 €,50 €), 1,250 €") == [
        "150元",
        "20元",
        "20 €",
        "50 €",
        "1,250 €",
    ]


def test_of_a_code_block_only_addresses_are_taken() -> None:
    """Every other token of it would be one."""
    block = "```\nx = load('src/a.py')\nORD-12345 `name` $5 at 14:30\n```\nthen ORD-777"
    assert texts_of(block) == ["src/a.py", "ORD-777"]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("place", FRAMES)
def test_a_secret_is_never_found(secret: str, place: str) -> None:
    """Nor a part of it that would help, nor the mark that stands for it, nor random data."""
    for found in texts_of(place.format(secret)):
        assert "redacted" not in found
        assert found not in secret
        assert secret not in found


def test_what_is_a_secret_only_by_itself_is_not_found_either() -> None:
    """A hyphen ahead hides the prefix from `redact`, and would not be in the find."""
    assert texts_of("-ghp" + "_aaaaaaaaaaaaaaaaaaaa123, ORD-111") == ["ORD-111"]


def test_half_a_name_whose_accents_stand_apart_is_not_found() -> None:
    """What goes on with an accent of its own, or with a joiner, is none; its neighbours are."""
    text = "/home/ann/Jose\u0301.txt and /home/ann/notes.txt, https://x.example/👩\u200d🚀"
    assert texts_of(text) == ["/home/ann/notes.txt"]


def test_figures_of_other_scripts_are_figures() -> None:
    """And come out as they were written."""
    text = "\u0665 / \uff12\uff10\uff12\uff16-\uff10\uff13-\uff10\uff12, \u0663:\u0663\u0660"
    assert texts_of(text) == [
        "\uff12\uff10\uff12\uff16-\uff10\uff13-\uff10\uff12",
        "\u0663:\u0663\u0660",
    ]


def test_a_url_with_a_secret_loses_its_query_or_goes() -> None:
    """What is left of an address must be an address."""
    assert texts_of("https://x.example.com/a?token=abcd1234&b=1") == ["https://x.example.com/a"]
    assert texts_of("postgres://bob:s3cr3t@db.example.com/x") == ["db.example.com/x"]


_PIECES = st.one_of(
    st.sampled_from([line.text for lines in LINES.values() for line in lines]),
    st.sampled_from(SECRETS),
    st.sampled_from(
        ["`", '"', "“", "”", "```", "(", ")", "://", "@", "#", "[redacted:", "]", "\n"]
    ),
    st.text(st.characters(codec=None), max_size=6),
)
texts = st.lists(_PIECES, max_size=8).map("".join)


@settings(max_examples=300)
@given(texts)
def test_every_find_stands_in_the_redacted_text_in_order_and_apart(text: str) -> None:
    """So there are no more of them than characters; lone surrogates and NUL included."""
    clean = redact(text)
    at = 0
    for one in find_identifiers(text):
        place = clean.find(one.text, at)
        assert place >= 0
        assert one.text.strip() == one.text != ""
        at = place + len(one.text)


@settings(max_examples=200)
@given(texts)
def test_no_find_is_a_secret_or_its_mark(text: str) -> None:
    """Taken out of its sentence, too."""
    for one in find_identifiers(text):
        assert redact(one.text) == one.text
        assert "[redacted:" not in one.text


@pytest.mark.parametrize(
    "hostile",
    [
        *("a.", "a-", "a/", "/", "./", "1,", "1 ", "1-", "1:", "00:", "$1", "é", "年", "1月", "a@"),
        *(
            "`a",
            '"A',
            "“A",
            "'A ",
            "»A",
            "```",
            "(",
            "https://",
            "http://a",
            "\\\\a",
            "C:\\a",
            "C:\\a b",
        ),
        *("order no. ", "order ", "May ", "1 May ", "de ", "v1.", "abc1", "ab:", "::", "1f", "🙂"),
        *(
            "A1B2-",
            "DE89 3704 ",
            "[redacted:",
            "_",
            "#1",
            "+1 ",
            "0170 ",
            "/项目",
            "a@b:",
            "=",
            "x=1&",
        ),
    ],
)
def test_a_long_run_of_what_almost_matches_comes_to_an_end(hostile: str) -> None:
    """The suite's time limit is the judge: a pattern that backtracks would need hours."""
    text = hostile * (100_000 // len(hostile))
    found = find_identifiers(text)
    assert all(isinstance(one, Identifier) for one in found)
    assert sum(len(one.text) for one in found) <= len(text)
