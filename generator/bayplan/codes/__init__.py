"""Every diagnostic's code and what it is about: one table a letter, one section of docs/diagnostics a code."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.codes import a, f, f_kai, m, o, p, p_fit, r, s, t, w

CODES: Mapping[str, str] = {
    **r.CODES,
    **s.CODES,
    **w.CODES,
    **t.CODES,
    **p.CODES,
    **p_fit.CODES,
    **f.CODES,
    **f_kai.CODES,
    **m.CODES,
    **o.CODES,
    **a.CODES,
}
"""Code -> short title, by stage."""
