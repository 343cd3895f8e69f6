"""Hadoop configuration files of strangers keep all bytes but those of the properties that change."""

from __future__ import annotations

import pytest

from hopshive.tenancy.site_file import EMPTY, SiteFileError, element_of, read

STRANGE = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?><!--
   Licensed to nobody. -->
<configuration xmlns:xi="http://www.w3.org/2001/XInclude">
\t<xi:include href="other.xml"><xi:fallback/></xi:include>
  <!-- <property><name>a</name><value>a comment</value></property> -->
  <property>
    <name> a </name>
    <value>1 &lt; 2</value>
    <description>with a <b>tag</b> and ü</description>
  </property>
  <property name="short" value="x"/><property><name>b</name><value><![CDATA[<raw>]]></value><final>true</final></property>
  <property><name>a</name><value>second</value></property>
  <property><name>b</name><value>too late</value></property>
</configuration>
<!-- end -->
"""


def test_values_are_those_that_hadoop_reads() -> None:
    site = read(STRANGE.encode(), "x.xml")
    assert {name: site.value(name) for name in ("a", "b", "short", "none")} == {
        "a": "second",
        "b": "<raw>",
        "short": "x",
        "none": None,
    }


def test_a_change_leaves_every_other_byte() -> None:
    changed = read(STRANGE.encode(), "x.xml").replaced(
        {"short": element_of("short", "y & z"), "new": element_of("new", "1")}
    )
    assert changed.decode() == STRANGE.replace(
        '<property name="short" value="x"/>', "<property><name>short</name><value>y &amp; z</value></property>"
    ).replace("</configuration>", "  <property><name>new</name><value>1</value></property>\n</configuration>")


def test_one_element_takes_the_place_of_several() -> None:
    changed = read(STRANGE.encode(), "x.xml").replaced({"a": element_of("a", "3")}).decode()
    assert read(changed.encode(), "x.xml").value("a") == "3"
    assert changed.count("<name>a</name>") == 2  # the new element, and the comment
    assert "second" not in changed


def test_a_replacement_can_be_given_back() -> None:
    site = read(STRANGE.encode(), "x.xml")
    before = site.text("short")
    changed = read(site.replaced({"short": element_of("short", "y")}), "x.xml")
    assert changed.replaced({"short": before}) == STRANGE.encode()


def test_a_new_property_leaves_no_trace_when_it_is_removed() -> None:
    for content in (STRANGE.encode(), EMPTY, b"<configuration><property/></configuration>"):
        added = read(content, "x.xml").replaced({"n": element_of("n", "1"), "m": element_of("m", "2")})
        removed = read(added, "x.xml").replaced({"n": "", "m": ""})
        assert read(added, "x.xml").value("m") == "2"
        assert removed == content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x.xml is not a Hadoop configuration file in UTF-8: no element found"),
        (b"<configuration>", "no element found"),
        (b"<beans></beans>", "x.xml is not a Hadoop configuration file: its root is <beans>"),
        (b"<configuration/>", "x.xml has an empty <configuration/>"),
        (b'<?xml version="1.0" encoding="latin-1"?><configuration></configuration>', "x.xml is in latin-1"),
        ("<configuration>ü</configuration>".encode("latin-1"), "x.xml is not a Hadoop configuration file in UTF-8"),
    ],
)
def test_another_file_is_refused_by_name(content: bytes, message: str) -> None:
    with pytest.raises(SiteFileError, match=message.replace("(", r"\(")):
        read(content, "x.xml")
