from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hostile import HOSTILE

from unskew.display import WIDTH, csv_cell, escape_controls, escaped_json, printable

# A megabyte at every draw would take minutes.
BRIEF = sorted(text for text in HOSTILE.values() if len(text) < 1000)
texts = st.text(st.characters(codec=None), max_size=200) | st.sampled_from(BRIEF)
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


@given(texts)
def test_every_character_of_a_shown_key_can_be_seen(text):
    line = printable(text)
    assert not {unicodedata.category(letter) for letter in line} & UNSEEN
    assert len(line) <= WIDTH
    assert line.splitlines() == [line]


@given(texts, st.integers(30, 90))
def test_showing_twice_is_showing_once(text, width):
    assert printable(printable(text, width), width) == printable(text, width)


@given(st.text(st.characters(categories=["L", "N"], max_codepoint=0x24F), min_size=1, max_size=60))
def test_ordinary_keys_are_shown_as_they_are(text):
    assert printable(text) == text


def test_a_megabyte_is_one_short_line():
    assert printable(HOSTILE["megabyte"]).endswith("mmm (1,000,000 characters)")


def test_marks_do_not_pile_up():
    assert printable("a" + "\u0301" * 40).count("\u0301") == 3


@pytest.mark.parametrize("value", [None, 7, 2.5, b"\x1b", ("a", None), True])
def test_values_that_are_not_text(value):
    assert printable(value) == ("NULL" if value is None else str(value))


def test_the_ends_of_long_keys_tell_them_apart():
    long = "https://example.org/" + "x" * 500
    assert printable(long + "1") != printable(long + "2")


@given(texts)
def test_escaped_json_means_the_same(text):
    document = json.dumps({text: [text]}, ensure_ascii=False, indent=2)
    safe = escaped_json(document)
    assert json.loads(safe) == {text: [text]}
    assert not {unicodedata.category(letter) for letter in safe.replace("\n", "")} & UNSEEN


@given(texts)
def test_no_cell_is_a_formula(text):
    assert not str(csv_cell(text)).lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))


def test_numbers_in_a_csv_stay_numbers():
    assert csv_cell(-3) == -3


def test_lines_stay_lines():
    assert escape_controls("a\x07\nb\r") == "a\\x07\nb\\r"
