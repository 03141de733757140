"""The page: markup, style, scripts, and data, in one file that asks nothing of any network."""

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

_SCRIPTS = (
    "decode.js",
    "levels.js",
    "tensor.js",
    "classes.js",
    "mixture.js",
    "shapley.js",
    "model.js",
    "format.js",
    "svg.js",
    "effects.js",
    "pairs.js",
    "diagnostics.js",
    "table.js",
    "controls.js",
    "bars.js",
    "answer.js",
    "rowtext.js",
    "whatif.js",
    "lazy.js",
    "overview.js",
    "sections.js",
    "page.js",
)


def page(document: Mapping[str, Any], arrays: Mapping[str, str]) -> str:
    """The page of a document and its packed arrays; the same ones give the same bytes.

    Texts of the model are in the data only, where no character begins a tag, and in the title. The page may run the
    script and use the style that it was written with, and load nothing.
    """
    style = _asset("style.css")
    script = '(() => {\n"use strict";\n' + "\n".join(map(_asset, _SCRIPTS)) + "\n})();\n"
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; {_only('script', script)}; {_only('style', style)}"
    )
    told = json.dumps(document, allow_nan=False, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026")
    parts = {
        "title": escape(document["title"]),
        "policy": policy,
        "style": style,
        "document": told,
        "doubles": arrays["doubles"],
        "cells": arrays["cells"],
        "script": script,
    }
    pieces = _asset("page.html").split("{{")
    filled = [piece.partition("}}") for piece in pieces[1:]]
    return pieces[0] + "".join(parts[name.strip()] + rest for name, _, rest in filled)


def _asset(name: str) -> str:
    return files("csid.report").joinpath(name).read_text(encoding="utf-8")


def _only(kind: str, text: str) -> str:
    """The rule that allows one script or style, by its hash."""
    return f"{kind}-src 'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
