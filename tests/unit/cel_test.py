"""Quotes and brackets of CEL expressions."""

import pytest

from bayplan.kube.validation import fault


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("device.driver == 'a)'", ""),
        ('device.attributes["x"].y.matches(r"\\(")', ""),
        ("device.attributes['gpu.nvidia.com'].name.matches(\"it's\") // (", ""),
        ("x == 'it\\'s'", ""),
        ('x == """a\n"b" ("""', ""),
        ("a.matches('H200'", "( is never closed"),
        ("a[0)", ") has no opening bracket"),
        ("a == 'b", "a quote is never closed"),
        ('a == """b', "a quote is never closed"),
        (")", ") has no opening bracket"),
        (" ", "it is empty"),
    ],
)
def test_what_has_no_counterpart(text: str, why: str) -> None:
    assert fault(text) == why
