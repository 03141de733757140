"""The model file: one safetensors file with a JSON header, which cannot run code. See docs/model-file.md."""

from csid.model_file.container import PROTOCOL, read
from csid.model_file.errors import ModelFileError
from csid.model_file.model import SavedModel, read_model, write_model

__all__ = ["PROTOCOL", "ModelFileError", "SavedModel", "read", "read_model", "write_model"]
