"""Fitted models for other programs: ONNX, a Python module that needs nothing else, and JSON."""

from csid.export.document import to_json
from csid.export.onnx_model import to_onnx
from csid.export.onnx_pipelines import register_skl2onnx
from csid.export.python_module import to_python

__all__ = ["register_skl2onnx", "to_json", "to_onnx", "to_python"]
