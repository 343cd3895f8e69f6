"""Thrift's strict binary protocol: what is written, what is read, and what is no answer."""

from __future__ import annotations

import io

import pytest

from hopshive.metastore.thrift import ThriftError, TType, call, encode_call, encode_value, read_struct


class Recorded:
    """A stream that answers with given bytes."""

    def __init__(self, answer: bytes) -> None:
        self.sent = b""
        self._answer = io.BytesIO(answer)

    def write(self, data: bytes) -> None:
        self.sent += data

    def read(self, size: int) -> bytes:
        return self._answer.read(size)


def test_a_call_is_written_as_the_specification_has_it() -> None:
    assert encode_call("get", {1: (TType.STRING, "é"), 2: (TType.I32, 5), 3: (TType.BOOL, False)}, 7) == bytes.fromhex(
        "80010001 00000003 676574 00000007  0b0001 00000002 c3a9  080002 00000005  020003 00  00"
    )


def test_a_list_is_written_with_the_type_of_its_items() -> None:
    assert encode_value(TType.LIST, (TType.STRING, ["a", "b"])) == bytes.fromhex("0b00000002 0000000161 0000000162")


def test_values_of_all_types_are_read() -> None:
    wire = bytes.fromhex(
        "020001 01"
        "060002 0102"
        "0a0003 0000000000000009"
        "0b0004 00000001 61"
        "0f0005 08 00000002 00000001 00000002"
        "0d0006 0b08 00000001 00000001 6b 00000003"
        "0c0007 030001 7f 00"
        "00"
    )
    assert read_struct(Recorded(wire)) == {1: True, 2: 258, 3: 9, 4: b"a", 5: [1, 2], 6: {b"k": 3}, 7: {1: 127}}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request", "begins with 0x48545450: not the strict binary protocol"),
        (encode_call("other", {}, 1), r"an answer to other \(1\) came instead of one to get \(1\)"),
        (
            bytes.fromhex("80010003 00000003 676574 00000001") + bytes.fromhex("0b0001 00000002 6e6f 00"),
            "get: no",
        ),
        (bytes.fromhex("80010002 7fffffff"), "a length of 2147483647"),
    ],
)
def test_what_is_no_answer_is_told(answer: bytes, sentence: str) -> None:
    with pytest.raises(ThriftError, match=sentence):
        call(Recorded(answer), "get", {})
