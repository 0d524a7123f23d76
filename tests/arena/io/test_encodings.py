"""An encoding is named by what the bytes show, also in a long line, and not without any sign of it."""

import pytest

from arena.io.encodings import SAMPLE, guess_encoding


@pytest.mark.parametrize("blanks", range(2))
def test_a_long_line_is_recognised_wherever_the_sample_ends(blanks):
    line = (" " * blanks + "这是一个很长的中文句子" * 5_000).encode("gbk")
    assert len(line) > SAMPLE and guess_encoding(line, "byte 0xD5").startswith("GB18030")


def test_a_sample_of_ascii_names_no_encoding():
    text = b"a,b\n" * SAMPLE + "1,画像の建物\n".encode("euc_jp")
    assert guess_encoding(text, "byte 0xB2") == "byte 0xB2"
