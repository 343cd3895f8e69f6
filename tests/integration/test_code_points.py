"""What Hive's functions of texts say of letters beyond U+FFFF, and what those that take their place in HiveServer2 say.

molecule/default/tests/test_answer_guard.py asks a HiveServer2, whose tasks evaluate them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.hive_hooks import run_probe

if TYPE_CHECKING:
    from pathlib import Path

# Each line of the file is a function and its arguments as JSON. Prints a line for each with Hive's own functions, then with
# the others.
PROBE = """
package hopshive;

import java.nio.file.*;
import java.util.*;
import org.apache.hadoop.hive.ql.exec.FunctionInfo;
import org.apache.hadoop.hive.ql.exec.FunctionRegistry;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF.*;
import org.apache.hadoop.hive.serde2.objectinspector.*;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.PrimitiveObjectInspectorFactory;
import org.apache.hadoop.hive.serde2.typeinfo.*;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;

class Probe {
    static Object ask(List<Object> call, boolean constant) throws Exception {
        FunctionInfo registered = FunctionRegistry.getFunctionInfo((String) call.get(0));
        GenericUDF function = FunctionRegistry.cloneGenericUDF(registered.getGenericUDF());
        ObjectInspector[] types = new ObjectInspector[call.size() - 1];
        DeferredObject[] values = new DeferredObject[call.size() - 1];
        for (int at = 0; at < values.length; at++) {
            Object value = call.get(at + 1);
            boolean number = value instanceof Integer;
            ObjectInspector plain = number ? PrimitiveObjectInspectorFactory.javaIntObjectInspector
                : PrimitiveObjectInspectorFactory.javaStringObjectInspector;
            PrimitiveTypeInfo type = number ? TypeInfoFactory.intTypeInfo : TypeInfoFactory.stringTypeInfo;
            ObjectInspector written = PrimitiveObjectInspectorFactory.getPrimitiveWritableObjectInspector(type);
            Object stored = value == null ? null : ObjectInspectorConverters.getConverter(plain, written).convert(value);
            types[at] = !constant ? written
                : PrimitiveObjectInspectorFactory.getPrimitiveWritableConstantObjectInspector(type, stored);
            values[at] = new DeferredJavaObject(stored);
        }
        ObjectInspector found = function.initialize(types);
        return ObjectInspectorUtils.copyToStandardJavaObject(function.evaluate(values), found);
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
        for (boolean ours : List.of(false, true)) {
            if (ours) {
                CodePoints.ready();
            }
            for (String line : Files.readAllLines(Path.of(arguments[0]))) {
                List<Object> call = json.readValue(line, List.class);
                List<Object> found = new ArrayList<>();
                for (boolean constant : List.of(true, false)) {
                    try {
                        found.add(ask(call, constant));
                    } catch (Exception error) {
                        found.add(error.toString());
                    }
                }
                System.out.println("= " + json.writeValueAsString(found));
            }
        }
    }
}
"""
TEXT = "a😀bé😀c"
# What Hive's own functions answer otherwise.
WRONG: dict[tuple[Any, ...], Any] = {
    ("substr", TEXT, 2, 1): "😀",
    ("substr", TEXT, 3): "bé😀c",
    ("substr", TEXT, -2, 1): "😀",
    ("substr", TEXT, -6, 2): "a😀",
    ("substr", TEXT, -7): "",
    ("substring", TEXT, 0, 2): "a😀",
    ("mid", TEXT, 5, 9): "😀c",
    ("like", "😀😁", "😀_"): True,
    ("like", "a😀%b", "a😀\\%_"): True,
    ("like", "a😀b😁c", "a%😀%😁_"): True,
    ("likeany", "😀😁", "x", "😀_"): True,
    ("likeall", "😀😁", "%", "😀_"): True,
    ("instr", TEXT, "b"): 3,
    ("instr", TEXT, "😀", 3): 5,
    ("instr", TEXT, "😀", -1): 5,
    ("instr", TEXT, "😀", 1, 2): 5,
    ("instr", TEXT, "c", -1): 6,
    ("locate", "é", TEXT, 5): 0,
    ("lpad", TEXT, 8, "x"): f"xx{TEXT}",
    ("lpad", TEXT, 2, "x"): "a😀",
    ("lpad", "a", 4, "😀é"): "😀é😀a",
    ("rpad", TEXT, 8, "😀"): f"{TEXT}😀😀",
    ("rpad", TEXT, 2, "x"): "a😀",
    ("levenshtein", "😀", "a"): 1,
    ("trim", "😁a😁", "😀"): "😁a😁",
    ("ltrim", "😁a😁", "😀"): "😁a😁",
    ("rtrim", "a🨀", "😀"): "a🨀",
    ("split", TEXT, ""): ["a", "😀", "b", "é", "😀", "c", ""],
    ("regexp_replace", "a😀b", "x*", "-"): "-a-😀-b-",
    # No such letter: Hive's own leaves a part of the delimiter.
    ("substring_index", "a--b--c", "--", -1): "c",
    ("substring_index", "a--b--c", "--", -2): "b--c",
    ("substring_index", "a😀b😀c", "😀", -1): "c",
    ("substr", TEXT, 8, 1): "",
    ("substring_index", "--", "--", -1): "",
}
# What both answer alike.
RIGHT: dict[tuple[Any, ...], Any] = {
    ("substr", "Zürich", 2, 3): "üri",
    ("position", "😀", "😀😀", 2): 2,
    ("substr", "Zürich", -2): "ch",
    ("substr", TEXT, 1, 0): "",
    ("substr", None, 1, 1): None,
    ("like", "Zürich", "Z_r%h"): True,
    ("like", TEXT, "a_b%"): True,
    ("like", TEXT, "%😀%"): True,
    ("like", TEXT, None): None,
    ("like", None, "😀_"): None,
    ("likeany", "a", "x", "_"): True,
    ("likeany", "😀😁", "😀%", None): None,
    ("likeall", "a", "x", "_"): False,
    ("instr", "Zürich", "r"): 3,
    ("instr", TEXT, "x"): 0,
    ("instr", TEXT, "a"): 1,
    ("instr", TEXT, None): None,
    ("instr", "abcabc", "b", -1, 2): 2,
    ("locate", "b", TEXT): 3,
    ("locate", "c", TEXT, 3): 6,
    ("locate", "", TEXT): 1,
    ("locate", "b", TEXT, 0): 0,
    ("locate", "b", TEXT, None): 0,
    ("lpad", "é", 3, "ü"): "üüé",
    ("rpad", None, 3, "x"): None,
    ("rpad", "ab", 1, "x"): "a",
    ("lpad", TEXT, 0, "x"): "",
    ("lpad", TEXT, 3, ""): None,
    ("levenshtein", "kitten", "sitting"): 3,
    ("levenshtein", "😀", None): None,
    ("trim", " a "): "a",
    ("trim", "😀a😀", "😀"): "a",
    ("ltrim", "xxa", "x"): "a",
    ("split", "a,b,", ","): ["a", "b", ""],
    ("split", TEXT, "😀"): ["a", "bé", "c"],
    ("split", TEXT, "x"): [TEXT],
    ("split", None, ""): None,
    ("regexp_replace", TEXT, "[😀b]", "z"): "azzézc",
    ("regexp_replace", TEXT, None, "z"): None,
    ("substring_index", "www.apache.org", ".", -2): "apache.org",
    ("substring_index", "a--b--c", "--", 2): "a--b",
    ("substring_index", "a--b--c", "--", -3): "a--b--c",
    ("substring_index", "a--b", "--", 0): "",
    ("substring_index", "", "--", -1): "",
}


@pytest.fixture(scope="module")
def answers(
    tmp_path_factory: pytest.TempPathFactory, hive_home: Path, hadoop_home: Path
) -> tuple[dict[tuple[Any, ...], Any], dict[tuple[Any, ...], Any]]:
    """By call: with constants and with columns, of Hive's own functions and of those that take their place."""
    directory = tmp_path_factory.mktemp("letters")
    path = directory / "calls"
    calls = [*WRONG, *RIGHT]
    path.write_text("".join(f"{json.dumps(call)}\n" for call in calls))
    lines = run_probe(PROBE, directory, (hive_home, hadoop_home), [path])
    found = [json.loads(line[2:]) for line in lines if line.startswith("= ")]
    assert len(found) == 2 * len(calls)
    return dict(zip(calls, found, strict=False)), dict(zip(calls, found[len(calls) :], strict=True))


@pytest.mark.parametrize("call", [*WRONG, *RIGHT], ids=str)
def test_a_letter_is_one_letter(
    answers: tuple[dict[tuple[Any, ...], Any], dict[tuple[Any, ...], Any]], call: tuple[Any, ...]
) -> None:
    stock, ours = answers
    right = {**WRONG, **RIGHT}[call]
    assert ours[call] == [right, right]
    assert (stock[call] == [right, right]) == (call in RIGHT)
