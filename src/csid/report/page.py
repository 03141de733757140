"""The page: markup, style, scripts and data in one file that loads nothing from the network."""

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from csid.report.sections import SECTIONS

_SCRIPTS = (
    "decode",
    "levels",
    "tensor",
    "classes",
    "mixture",
    "shapley",
    "model",
    "class_model",
    "format",
    "svg",
    "axis",
    "readings",
    "square_plot",
    "curves",
    "confusion_map",
    "effect_plot",
    "pair_map",
    "controls",
    "bars",
    "strip",
    "contributions",
    "answer",
    "class_answer",
    "rowtext",
    "lazy",
    "section",
)
"""What sections are made from; `page.js`, after the sections, starts the page."""


def page(document: Mapping[str, Any], arrays: Mapping[str, str], likelihood: str) -> str:
    """The page of a document and its packed arrays; the same inputs give the same bytes.

    likelihood : its JavaScript, for predictive intervals and for probabilities of classes.

    Texts of the model are in the data only, where no character begins a tag, and in the title. The page may run the
    script and use the style that it was written with, and load nothing.
    """
    style = _asset("style.css")
    names = [f"scripts/{name}" for name in _SCRIPTS] + [f"sections/{section.name}" for section in SECTIONS]
    scripts = "\n".join(_asset(f"{name}.js") for name in [*names, "scripts/page"])
    script = f'(() => {{\n"use strict";\nconst LIKELIHOOD = {likelihood};\n{scripts}\n}})();\n'
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; {_only('script', script)}; {_only('style', style)}"
    )
    content = json.dumps(document, allow_nan=False, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026")
    parts = {
        "title": escape(document["title"]),
        "policy": policy,
        "style": style,
        "document": content,
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
