"""Properties of a Hadoop configuration file, such as hive-site.xml, changed in place.

Only the bytes of the changed properties change. Comments, order, indentation and includes stay as their author wrote them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Mapping

EMPTY = b'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n</configuration>\n'
PROPERTY = "property"


class SiteFileError(Exception):
    """The file is not a Hadoop configuration file in UTF-8; the message says where it stops being one."""


@dataclass(frozen=True)
class Property:
    """A property element: its name and value, and the bytes from `start` to `end` that it takes."""

    name: str
    value: str
    final: bool
    start: int
    end: int


@dataclass(frozen=True)
class SiteFile:
    """The content of a configuration file and what it says.

    `end` is the offset of the tag that closes the configuration.
    """

    content: bytes
    properties: tuple[Property, ...]
    end: int

    def named(self, name: str) -> tuple[Property, ...]:
        """The elements of one property, in their order. A file may have several."""
        return tuple(element for element in self.properties if element.name == name)

    def value(self, name: str) -> str | None:
        """The value that Hadoop reads: the last one, but the first one that is final. None without the property."""
        elements = self.named(name)
        final = next((element for element in elements if element.final), None)
        holding = final or (elements[-1] if elements else None)
        return holding.value if holding else None

    def text(self, name: str) -> str:
        """The elements of one property as they stand in the file, "" without any."""
        return "".join(self.content[element.start : element.end].decode() for element in self.named(name))

    def replaced(self, texts: Mapping[str, str]) -> bytes:
        """The content with each named property's elements replaced by a text of XML; "" removes them.

        A property that the file does not have yet comes last, on a line of its own if the closing tag has one.
        """
        cuts: list[tuple[int, int, bytes]] = []
        for name, text in texts.items():
            elements = self.named(name)
            if elements:
                first, *others = elements
                cuts.append(self._replacing(first, text))
                cuts.extend(self._replacing(element, "") for element in others)
            elif text:
                alone = self.content[self.end - 1 : self.end] == b"\n"
                cuts.append((self.end, self.end, (f"  {text}\n" if alone else text).encode()))
        pieces = []
        done = 0
        # Insertions at one place keep their order, since the sort is stable.
        for start, end, new in sorted(cuts, key=lambda cut: cut[0]):
            pieces += [self.content[done:start], new]
            done = end
        return b"".join([*pieces, self.content[done:]])

    def _replacing(self, element: Property, text: str) -> tuple[int, int, bytes]:
        """What to cut and what to put there. A removed element that has its line for itself takes the line along."""
        start, end = element.start, element.end
        if not text:
            line = self.content.rfind(b"\n", 0, start) + 1
            alone = not self.content[line:start].strip() and self.content[end : end + 1] == b"\n"
            if alone:
                start, end = line, end + 1
        return start, end, text.encode()


def element_of(name: str, value: str) -> str:
    """The XML of one property."""
    return f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"


def read(content: bytes, path: str) -> SiteFile:
    """The properties of a configuration file's content. `path` is for messages.

    Raises:
        SiteFileError: the content is not XML in UTF-8, or its root is not `configuration`.
    """
    reader = _Reader(content, path)
    reader.run()
    return SiteFile(content, tuple(reader.properties), reader.end)


class _Reader:
    """One pass of expat over a file. expat gives the offset of each tag in bytes."""

    def __init__(self, content: bytes, path: str) -> None:
        self.properties: list[Property] = []
        self.end = 0
        self._content = content
        self._path = path
        self._parser = expat.ParserCreate()
        self._parser.XmlDeclHandler = self._declared
        self._parser.StartElementHandler = self._started
        self._parser.EndElementHandler = self._ended
        self._parser.CharacterDataHandler = self._text
        self._depth = 0
        self._start = 0
        self._fields: dict[str, str] | None = None
        self._field: str | None = None

    def run(self) -> None:
        try:
            self._content.decode()
            self._parser.Parse(self._content, True)
        except (expat.ExpatError, UnicodeDecodeError) as error:
            raise SiteFileError(f"{self._path} is not a Hadoop configuration file in UTF-8: {error}") from error

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding and encoding.lower() not in ("utf-8", "us-ascii", "ascii"):
            raise SiteFileError(f"{self._path} is in {encoding}. Convert it to UTF-8.")

    def _started(self, tag: str, attributes: dict[str, str]) -> None:
        if self._depth == 0 and tag != "configuration":
            raise SiteFileError(f"{self._path} is not a Hadoop configuration file: its root is <{tag}>")
        self._depth += 1
        if tag == PROPERTY:
            # Hadoop reads <property name="..." value="..."/> too.
            self._fields = dict(attributes)
            self._start = self._parser.CurrentByteIndex
        elif self._fields is not None:
            self._field = tag
            self._fields[tag] = ""

    def _text(self, text: str) -> None:
        if self._fields is not None and self._field is not None:
            self._fields[self._field] += text

    def _ended(self, tag: str) -> None:
        self._depth -= 1
        at = self._parser.CurrentByteIndex
        if tag == PROPERTY and self._fields is not None:
            fields = self._fields
            self.properties.append(
                Property(
                    fields.get("name", "").strip(),
                    fields.get("value", ""),
                    fields.get("final", "").strip() == "true",
                    self._start,
                    self._after(at),
                )
            )
            self._fields = None
        elif self._depth == 0:
            self.end = self._last_line(at)
        self._field = None

    def _after(self, at: int) -> int:
        """The offset after a property's last tag. For <property .../> expat gives that offset, else that of </property>."""
        return self._content.index(b">", at) + 1 if self._content.startswith(b"</property", at) else at

    def _last_line(self, at: int) -> int:
        """Where a new property goes: before the closing tag, at the beginning of its line if it has one for itself."""
        if not self._content.startswith(b"</", at):
            raise SiteFileError(
                f"{self._path} has an empty <configuration/>. Write <configuration> and </configuration>."
            )
        line = self._content.rfind(b"\n", 0, at) + 1
        return line if not self._content[line:at].strip() else at
