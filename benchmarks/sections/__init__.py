"""Sections of docs/benchmarks.md: each module has `section()`, which saves its plots and returns Markdown."""
