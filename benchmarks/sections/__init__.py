"""Sections of the page of benchmarks: each has `section()`, which draws its figures and returns Markdown."""
