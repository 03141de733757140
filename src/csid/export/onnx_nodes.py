"""A builder of ONNX graphs: arithmetic on values adds the nodes that compute it."""

from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Operand = Union["Value", NDArray[Any], float, int]

LARGEST = 2**31 - 2**20
"""Bytes of constants that fit into a protobuf file, which is limited to 2 GB."""


class Graph:
    """Nodes and constants, in the order in which they were added.

    unique : makes unique names; outer : the graph that has the loop whose body this is.
    """

    def __init__(self, unique: Callable[[str], str], outer: "Graph | None" = None) -> None:
        self.unique = unique
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._bytes = 0

    def value(self, name: str) -> "Value":
        """A value by its name, such as an input."""
        return Value(name, self)

    def constant(self, content: NDArray[Any] | float | int) -> "Value":
        """Numbers, or an object array of strings."""
        array, name = np.asarray(content), self.unique("constant")
        self._bytes += array.nbytes
        if self._bytes > LARGEST:
            raise ValueError(
                f"the model has {self._bytes / 1e9:.1f} GB of constants or more, but an ONNX file is limited to 2 GB: "
                'export with precision="single", or fit with fewer `levels`, or a smaller `rank` or `max_rank`.'
            )
        self.constants.append(numpy_helper.from_array(array, name))
        return Value(name, self)

    def add(
        self, operator: str, *inputs: Operand, output: str | None = None, unused: int = 0, **attributes: Any
    ) -> "Value":
        """The first output of a new node, which may be given a name; `unused` more outputs follow it."""
        names = [self._name(value) for value in inputs]
        output = output or self.unique(operator)
        outputs = [output, *(self.unique(operator) for _ in range(unused))]
        self.nodes.append(helper.make_node(operator, names, outputs, name=f"csid/{output}", **attributes))
        return Value(output, self)

    def loop(
        self, most: int, step: Callable[..., tuple["Value", ...]], states: Sequence["Value"], shape: Sequence[Any]
    ) -> list["Value"]:
        """The states after at most `most` steps.

        step : maps states to a condition for going on and new states, all doubles of this shape.
        """
        return self._loop(most, lambda _, *states: step(*states), states, shape)

    def each(
        self, numbers: "Value", step: Callable[["Value", "Value"], "Value"], state: "Value", shape: Sequence[Any]
    ) -> "Value":
        """The state, doubles of this shape, after a step for each of some integers.

        step : maps an integer and the state to the new state.
        """

        def go_on(at: Value, state: Value) -> tuple[Value, Value]:
            return at.graph.add("Identity", np.array(True)), step(numbers.then("Gather", at), state)

        return self._loop(numbers.then("Size"), go_on, [state], shape)[0]

    def _loop(
        self, most: Operand, step: Callable[..., tuple["Value", ...]], states: Sequence["Value"], shape: Sequence[Any]
    ) -> list["Value"]:
        """As `loop`, but the first argument of the step is its number."""
        body = Graph(self.unique, outer=self)
        at, *names = [self.unique("step"), *(self.unique("state") for _ in states)]
        going, *new = step(body.value(at), *map(body.value, names))
        inputs = [
            helper.make_tensor_value_info(at, TensorProto.INT64, []),
            helper.make_tensor_value_info(self.unique("going"), TensorProto.BOOL, []),
            *(helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape) for name in names),
        ]
        outputs = [
            helper.make_tensor_value_info(going.name, TensorProto.BOOL, []),
            *(helper.make_tensor_value_info(state.name, TensorProto.DOUBLE, shape) for state in new),
        ]
        proto = helper.make_graph(body.nodes, self.unique("body"), inputs, outputs, body.constants)
        ends = [self.unique("end") for _ in states]
        before = [self._name(most), self._name(np.array(True)), *(state.name for state in states)]
        self.nodes.append(helper.make_node("Loop", before, ends, name=f"csid/{ends[0]}", body=proto))
        return [Value(name, self) for name in ends]

    def _name(self, operand: Operand) -> str:
        return (operand if isinstance(operand, Value) else self.constant(operand)).name


class Value:
    """A tensor that a graph computes. An operation on two values belongs to the inner one of their graphs."""

    def __init__(self, name: str, graph: Graph) -> None:
        self.name, self.graph = name, graph

    def then(self, operator: str, *others: Operand, **attributes: Any) -> "Value":
        """The output of a node that has this value as its first input."""
        return self._innermost(others).add(operator, self, *others, **attributes)

    def _innermost(self, others: Sequence[Operand]) -> Graph:
        graphs = [self.graph, *(other.graph for other in others if isinstance(other, Value))]
        return max(graphs, key=lambda graph: graph.depth)

    def __add__(self, other: Operand) -> "Value":
        return self.then("Add", other)

    def __sub__(self, other: Operand) -> "Value":
        return self.then("Sub", other)

    def __rsub__(self, other: Operand) -> "Value":
        return self._innermost([other]).add("Sub", other, self)

    def __mul__(self, other: Operand) -> "Value":
        return self.then("Mul", other)

    def __truediv__(self, other: Operand) -> "Value":
        return self.then("Div", other)

    def __matmul__(self, other: Operand) -> "Value":
        return self.then("MatMul", other)

    def where(self, true: Operand, false: Operand) -> "Value":
        return self.then("Where", true, false)

    def total(self, axis: int) -> "Value":
        """Sums over an axis, which is removed."""
        return self.then("ReduceSum", np.array([axis]), keepdims=0)

    def cast(self, kind: int) -> "Value":
        return self.then("Cast", to=kind)


class LookupTable:
    """Rows to look up, stored in single or double precision and returned as doubles."""

    def __init__(self, content: Value, single: bool) -> None:
        self.content, self.single = content, single

    @classmethod
    def of(cls, rows: NDArray[np.float64], graph: Graph, single: bool = False) -> "LookupTable":
        return cls(graph.constant(rows.astype(np.float32) if single else rows), single)

    def rows(self, at: Value) -> Value:
        """Rows by their indices."""
        return self._doubles(self.content.then("Gather", at))

    def entries(self, at: Value) -> Value:
        """(J, R) whose entry (j, r) is entry r of row at[j, r]."""
        return self._doubles(self.content.then("GatherElements", at, axis=0))

    def above(self, others: Sequence["LookupTable"]) -> "LookupTable":
        """This table with others below it."""
        return LookupTable(self.content.then("Concat", *(other.content for other in others), axis=0), self.single)

    def _doubles(self, taken: Value) -> Value:
        return taken.cast(TensorProto.DOUBLE) if self.single else taken
