"""The client of the NameNode against servers that freeze, hand over, refuse or talk nonsense; and the wire format."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

import pytest

from hopshive.hdfs.namenode import Entry, Event, MissingEdits, NameNode, NameNodeError, NameNodeUnavailable
from hopshive.hdfs.namenode.events import decode
from hopshive.hdfs.namenode.rpc import GREETING
from hopshive.hdfs.namenode.wire import (
    Message,
    WireError,
    delimited,
    encode,
    fields,
    read_delimited,
    varint,
    zigzag,
)
from tests.support.patience import within
from tests.support.servers import free_port

STANDBY = (
    "org.apache.hadoop.ipc.StandbyException",
    "Operation category READ is not supported in state standby.\nVisit x",
)
Reply = bytes | tuple[str, str]
Script = Callable[[str, Message], Reply]


@contextmanager
def listener(handle: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """A port where each connection is handed to a function."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def guarded(connection: socket.socket) -> None:
            with suppress(OSError):
                handle(connection)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection = stack.enter_context(server.accept()[0])
                    threading.Thread(target=guarded, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield ("127.0.0.1", server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


@contextmanager
def scripted(script: Script | Mapping[str, Reply]) -> Iterator[tuple[tuple[str, int], list[tuple[str, int, int]]]]:
    """A server of Hadoop's RPC that answers as told, and the method, call number and retries of each request.

    A pair is an exception and its message; for the method "" it answers the greeting, and the server hangs up.
    """
    asked: list[tuple[str, int, int]] = []

    def handle(connection: socket.socket) -> None:
        stream = connection.makefile("rwb")

        def answer(number: int, reply: Reply) -> None:
            if isinstance(reply, tuple):
                body = delimited(encode({1: number & 0xFFFF_FFFF, 2: 1, 4: reply[0], 5: reply[1]}))
            else:
                body = delimited(encode({1: number, 2: 0})) + delimited(reply)
            stream.write(struct.pack(">I", len(body)) + body)
            stream.flush()

        with suppress(struct.error):
            assert stream.read(len(GREETING)) == GREETING
            if not callable(script) and "" in script:
                answer(-33, script[""])
                stream.close()
                connection.close()
                return
            while True:
                (length,) = struct.unpack(">I", stream.read(4))
                frame = stream.read(length)
                header, at = read_delimited(frame)
                number = Message(header).number(3)
                if number == zigzag(-3):
                    continue
                call, at = read_delimited(frame, at)
                method, request = Message(call).text(1), Message(read_delimited(frame, at)[0])
                asked.append((method, number >> 1, Message(header).number(5) >> 1))
                answer(number >> 1, script(method, request) if callable(script) else script[method])

    with listener(handle) as address:
        yield address, asked


def status(name: str | bytes, file_id: int) -> dict[int, int | bytes | str]:
    return {1: 1, 2: name, 7: 5, 13: file_id}


def edits(first: int, last: int, sync: int, *batches: bytes) -> bytes:
    """A response of getEditsFromTxid."""
    head = b"".join(varint(field << 3) + varint(txid) for field, txid in ((2, first), (3, last), (4, sync)))
    return encode({1: head + b"".join(encode({5: batch}) for batch in batches)})


# --- a NameNode that cannot answer ------------------------------------------------------------------------------------


def test_one_that_is_down_is_named() -> None:
    port = free_port()
    with pytest.raises(NameNodeUnavailable, match=rf"The NameNode 127\.0\.0\.1:{port} cannot be reached: .*refused"):
        NameNode([("127.0.0.1", port)]).entry("/")


@pytest.mark.wall_time
def test_one_that_is_frozen_costs_the_timeout() -> None:
    began = time.monotonic()
    with (
        within(2),
        listener(lambda _: None) as address,
        pytest.raises(NameNodeUnavailable, match=rf":{address[1]} did not answer within 0\.3 s"),
    ):
        NameNode([address], timeout=0.3).entry("/")
    assert time.monotonic() - began >= 0.3


@pytest.mark.wall_time
def test_one_that_trickles_costs_the_timeout_too() -> None:
    def trickle(connection: socket.socket) -> None:
        """An answer of 4 KiB, a byte at a time."""
        for byte in struct.pack(">I", 4096) + bytes(4096):
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    with (
        within(2),
        listener(trickle) as address,
        pytest.raises(NameNodeUnavailable, match=r"did not answer within 0\.3 s"),
    ):
        NameNode([address], timeout=0.3).entry("/")


def test_a_standby_and_a_frozen_one_are_passed_by() -> None:
    active = encode({1: encode(status("", 16385))})
    with (
        scripted({"getFileInfo": STANDBY}) as (first, asked),
        listener(lambda _: None) as second,
        scripted({"getFileInfo": active}) as (third, _),
    ):
        namenode = NameNode([first, second, third], timeout=0.3)
        assert namenode.entry("/") == Entry("", 16385, True, 5)
        assert namenode.entry("/") is not None
        assert len(asked) == 1, "the one that answered is asked first the next time"


def test_only_standbys_are_named_one_by_one() -> None:
    with (
        scripted({"getFileInfo": STANDBY}) as (first, _),
        scripted({"getFileInfo": STANDBY}) as (second, _),
        pytest.raises(NameNodeUnavailable, match=rf":{first[1]} .*state standby.* The NameNode .*:{second[1]} "),
    ):
        NameNode([first, second]).entry("/")


def test_a_repeated_call_keeps_its_number_so_that_it_is_done_once() -> None:
    with scripted({"delete": STANDBY}) as (first, one), scripted({"delete": encode({1: 1})}) as (second, other):
        assert NameNode([first, second]).delete("/a")
    assert one == [("delete", 0, 0)]
    assert other == [("delete", 0, 1)]


@pytest.mark.parametrize(
    ("exception", "sentence"),
    [
        ("org.apache.hadoop.ipc.RetriableException", "does not answer getFileInfo now: NameNode still not started"),
        ("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "does not answer getFileInfo now"),
    ],
)
def test_what_passes_may_be_asked_again(exception: str, sentence: str) -> None:
    with (
        scripted({"getFileInfo": (exception, "NameNode still not started")}) as (address, _),
        pytest.raises(NameNodeUnavailable, match=sentence),
    ):
        NameNode([address]).entry("/")


def test_one_that_asks_for_kerberos_is_refused_in_a_sentence() -> None:
    refusal = (
        "org.apache.hadoop.security.AccessControlException",
        "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]",
    )
    with scripted({"": refusal}) as (address, _), pytest.raises(NameNodeError, match="asks for Kerberos") as raised:
        NameNode([address]).entry("/")
    assert not isinstance(raised.value, NameNodeUnavailable)


def test_another_server_of_hadoop_is_refused_in_a_sentence() -> None:
    refusal = ("org.apache.hadoop.ipc.RpcNoSuchProtocolException", "Unknown protocol: ClientProtocol")
    with (
        scripted({"getFileInfo": refusal}) as (address, _),
        pytest.raises(NameNodeError, match="a server of Hadoop, but not a NameNode's RPC port"),
    ):
        NameNode([address]).entry("/")


@pytest.mark.parametrize("greeting", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\0\0\0\x04abcd", b"\0\0\0\0"])
def test_one_that_speaks_something_else_is_refused_in_a_sentence(greeting: bytes) -> None:
    with (
        listener(lambda connection: connection.sendall(greeting)) as address,
        pytest.raises(NameNodeError, match=r"it is not a NameNode's RPC port") as raised,
    ):
        NameNode([address], timeout=2).entry("/")
    assert not isinstance(raised.value, NameNodeUnavailable)


def test_one_that_hangs_up_is_unavailable() -> None:
    with listener(lambda connection: connection.close()) as address, pytest.raises(NameNodeUnavailable):
        NameNode([address], timeout=2).entry("/")


# --- what a NameNode says of its edits --------------------------------------------------------------------------------


def test_a_gap_is_missed_edits() -> None:
    with (
        scripted({"getEditsFromTxid": edits(20, 30, 30)}) as (address, _),
        pytest.raises(MissingEdits, match="no longer has the edits after 10: they begin at 20"),
    ):
        NameNode([address]).events(10)


def test_edits_without_events_move_the_position() -> None:
    with scripted({"getEditsFromTxid": edits(11, 30, 40)}) as (address, _):
        batches = NameNode([address]).events(10)
    assert (batches.events, batches.last_txid, batches.lag) == ([], 30, 10)


def test_edits_that_cannot_be_read_now_leave_the_position() -> None:
    with scripted({"getEditsFromTxid": edits(-1, -1, 40)}) as (address, _):
        batches = NameNode([address]).events(10)
    assert (batches.events, batches.first_txid, batches.last_txid, batches.lag) == ([], 11, 10, 30)


def test_journal_nodes_that_do_not_answer_may_be_asked_again() -> None:
    with (
        scripted({"getEditsFromTxid": ("java.io.IOException", "Timed out waiting 20000ms")}) as (address, _),
        pytest.raises(NameNodeUnavailable, match="cannot read its edits: Timed out"),
    ):
        NameNode([address]).events(10)


def test_one_that_becomes_active_is_not_taken_for_one_that_was_put_back() -> None:
    replies = {"getEditsFromTxid": edits(-1, -1, 5), "getCurrentEditLogTxid": encode({1: -1})}
    with scripted(replies) as (address, _):
        for call in (lambda: NameNode([address]).events(10), NameNode([address]).current_txid):
            with pytest.raises(NameNodeUnavailable, match="is becoming active"):
                call()


# --- many calls, and the wire -----------------------------------------------------------------------------------------


def test_answers_find_their_calls() -> None:
    def by_path(_: str, request: Message) -> Reply:
        number = int(request.text(1)[1:])
        return encode({1: encode(status("", number))}) if number % 3 else b""

    with scripted(by_path) as (address, _):
        found = NameNode([address]).entries([f"/{number}" for number in range(1000)])
    assert [entry.file_id if entry else None for entry in found] == [n if n % 3 else None for n in range(1000)]


def test_a_name_that_is_no_utf8_goes_there_and_back() -> None:
    raw = b"caf\xe9"
    listing = encode({1: encode({1: encode(status(raw, 7))})})
    asked: list[bytes] = []

    def script(method: str, request: Message) -> Reply:
        asked.append(request.raw(1))
        return listing if method == "getListing" else b""

    with scripted(script) as (address, _):
        namenode = NameNode([address])
        (entry,) = namenode.listing("/")
        assert namenode.entry(f"/{entry.name}") is None
    assert asked[1] == b"/" + raw


def test_events_are_decoded_or_counted() -> None:
    batch = b"".join(
        [
            encode({1: 9}),
            encode({2: encode({1: 5, 2: encode({1: "/a", 2: 77})})}),
            encode({2: encode({1: 3, 2: encode({1: b"/\xff", 2: "/c", 3: 78})})}),
            encode({2: encode({1: 0, 2: encode({1: 1, 2: "/d", 3: 79})})}),
            encode({2: encode({1: 0, 2: encode({1: 0, 2: "/file", 3: 80})})}),
            encode({2: encode({1: 6, 2: b"never looked at"})}),
        ]
    )
    batches = decode(Message(edits(9, 9, 9, batch)).raw(1))
    assert batches.events == [
        Event("unlink", 9, "/a", "", 77),
        Event("rename", 9, "/\udcff", "/c", 78),
        Event("mkdir", 9, "/d", "", 79),
    ]
    assert batches.skipped == 2


def test_numbers_of_all_sizes_go_there_and_back() -> None:
    for number in (0, 1, 127, 128, 16385, 2**31, 2**63 - 1, -1, -(2**63)):
        assert Message(encode({300: number})).number(300) == number
    assert [zigzag(number) for number in (0, -1, 1, -2, -3)] == [0, 1, 2, 3, 5]


def test_a_message_that_is_cut_off_anywhere_is_an_error_or_shorter() -> None:
    whole = encode({1: 300, 2: "a" * 200, 1000: b"b"})
    for end in range(len(whole)):
        with suppress(WireError):
            assert len(list(fields(whole[:end]))) < 3
    with pytest.raises(WireError, match="wire type 3"):
        list(fields(b"\x0b"))
