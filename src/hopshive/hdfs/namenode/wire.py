"""The wire format of Protocol Buffers, as far as Hadoop's RPC needs it (protobuf.dev/programming-guides/encoding).

A message is a row of fields: a varint of number and wire type, then a varint or a length and that many bytes; what a field
means stands beside its reader. What is not asked for is not decoded, and text stays bytes until it is asked for: a name of HDFS
need not be UTF-8.

Why no library: a NameNode sends at most 50,000 events a second. This reads 300,000 and the `protobuf` package 1,000,000, a
difference of 2 us in the 20 us of an event, for a package with compiled parts on every host. A JVM in the process
(JPype) costs 220 MB and is no faster than this; one beside it (py4j) gets 900 events a second over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hopshive.hdfs.namenode.errors import NameNodeError

VARINT, I64, LEN, I32 = 0, 1, 2, 5

Value = int | bytes


class WireError(NameNodeError):
    """Bytes that are no message, or one that was cut off, or not the one that was expected."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Unreadable response from the NameNode: {why}.")


def varint(number: int) -> bytes:
    """A number below 2**64, seven bits a byte, the lowest first; a negative one as 64 bits of two's complement."""
    number &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number: int) -> int:
    """What a sint32 or sint64 is written as: 0, -1, 1, -2 as 0, 1, 2, 3."""
    return number << 1 if number >= 0 else -number * 2 - 1


def encode(message: Mapping[int, int | bytes | str]) -> bytes:
    """A message from `{field number: value}`; text becomes UTF-8, or the bytes that it was made from."""
    out = bytearray()
    for number, value in message.items():
        if isinstance(value, int):
            out += varint(number << 3 | VARINT) + varint(value)
        else:
            data = value.encode(errors="surrogateescape") if isinstance(value, str) else value
            out += varint(number << 3 | LEN) + varint(len(data)) + data
    return bytes(out)


def delimited(data: bytes) -> bytes:
    """A message with its length before it."""
    return varint(len(data)) + data


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The varint that begins at an offset, and the offset after it."""
    number = shift = 0
    try:
        while (byte := data[at]) > 0x7F:
            number |= (byte & 0x7F) << shift
            shift += 7
            at += 1
    except IndexError:
        raise WireError("a number is cut off") from None
    if shift > 63:
        raise WireError("a number of more than 64 bits")
    return number | byte << shift, at + 1


def read_delimited(data: bytes, at: int = 0) -> tuple[bytes, int]:
    """The bytes of a message with its length before it, and the offset after it."""
    length, at = read_varint(data, at)
    if at + length > len(data):
        raise WireError("a message is cut off")
    return data[at : at + length], at + length


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Field numbers and values in the order of the bytes; a varint is unsigned, everything else is bytes."""
    at, end = 0, len(data)
    while at < end:
        # The first branch of each pair is what nearly all fields are: it spares a call, and with it half of the time.
        if (tag := data[at]) < 0x80:
            at += 1
        else:
            tag, at = read_varint(data, at)
        kind = tag & 7
        if kind in (LEN, VARINT):
            if at < end and (value := data[at]) < 0x80:
                at += 1
            else:
                value, at = read_varint(data, at)
            if kind == VARINT:
                yield tag >> 3, value
                continue
            length = value
        elif kind == I64:
            length = 8
        elif kind == I32:
            length = 4
        else:
            raise WireError(f"a field of wire type {kind}")
        begin, at = at, at + length
        if at > end:
            raise WireError("a field is cut off")
        yield tag >> 3, data[begin:at]


def signed(number: int) -> int:
    """An int32 or int64 from its varint."""
    return number - (1 << 64) if number >> 63 else number


class Message:
    """A decoded message. Of a field that comes more than once the last value counts; `messages` gives all."""

    __slots__ = ("_values",)

    def __init__(self, data: bytes) -> None:
        self._values: dict[int, list[Value]] = {}
        for number, value in fields(data):
            self._values.setdefault(number, []).append(value)

    def __contains__(self, number: int) -> bool:
        return number in self._values

    def number(self, field: int, default: int = 0) -> int:
        """An integer; a type of 32 or 64 bits with sign comes out right."""
        value = self._values.get(field, [default])[-1]
        if not isinstance(value, int):
            raise WireError(f"field {field} is no number")
        return signed(value)

    def raw(self, field: int) -> bytes:
        """Bytes; empty if the field is not there."""
        value = self._values.get(field, [b""])[-1]
        if not isinstance(value, bytes):
            raise WireError(f"field {field} is a number")
        return value

    def text(self, field: int) -> str:
        """Text; bytes that are no UTF-8 become lone surrogates, which `encode` turns back."""
        return self.raw(field).decode(errors="surrogateescape")

    def message(self, field: int) -> Message:
        """A message within; empty if the field is not there."""
        return Message(self.raw(field))

    def messages(self, field: int) -> list[Message]:
        """All messages of a repeated field."""
        return [Message(value) for value in self._values.get(field, []) if isinstance(value, bytes)]
