"""Every diagnostic's code and what it is about: one table a letter, one section of docs/diagnostics a code."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.codes import a, f, f_kai, m, o, p, p_fit, r, r_osmo, s, t, w, w_osmo, w_osmo_pool

CODES: Mapping[str, str] = {
    **r.CODES,
    **r_osmo.CODES,
    **s.CODES,
    **w.CODES,
    **w_osmo.CODES,
    **w_osmo_pool.CODES,
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
