"""ONNX graphs in the making: arithmetic on values adds the nodes that compute it."""

from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Operand = Union["Value", NDArray[Any], float, int]

LARGEST = 2**31 - 2**20
"""Bytes of constants that fit into a file of the format (protobuf), which ends at 2 GB."""


class Graph:
    """Nodes and constants, in the order in which they were added.

    unique : makes names that nothing else has; outer : the graph that this one is the body of a loop in.
    """

    def __init__(self, unique: Callable[[str], str], outer: "Graph | None" = None) -> None:
        self.unique = unique
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._bytes = 0

    def value(self, name: str) -> "Value":
        """A value that has this name, such as an input."""
        return Value(name, self)

    def constant(self, content: NDArray[Any] | float | int) -> "Value":
        """Numbers, or an array of objects that are strings."""
        array, name = np.asarray(content), self.unique("constant")
        self._bytes += array.nbytes
        if self._bytes > LARGEST:
            raise ValueError(
                f"the model has {self._bytes / 1e9:.1f} GB of constants or more, but an ONNX file ends at 2 GB: "
                'export with precision="single", or fit with fewer `levels`, or a smaller `rank` or `max_rank`.'
            )
        self.constants.append(numpy_helper.from_array(array, name))
        return Value(name, self)

    def add(
        self, operator: str, *inputs: Operand, output: str | None = None, unused: int = 0, **attributes: Any
    ) -> "Value":
        """The output of a new node, which may be given a name; behind it come some that nothing reads."""
        names = [self._name(value) for value in inputs]
        output = output or self.unique(operator)
        outputs = [output, *(self.unique(operator) for _ in range(unused))]
        self.nodes.append(helper.make_node(operator, names, outputs, name=f"csid/{output}", **attributes))
        return Value(output, self)

    def loop(
        self, most: int, step: Callable[..., tuple["Value", ...]], states: Sequence["Value"], shape: Sequence[Any]
    ) -> list["Value"]:
        """The states after at most so many steps.

        step : from states to whether to go on and new states, all doubles of this shape.
        """
        return self._loop(most, lambda _, *states: step(*states), states, shape)

    def each(
        self, numbers: "Value", step: Callable[["Value", "Value"], "Value"], state: "Value", shape: Sequence[Any]
    ) -> "Value":
        """The state, doubles of this shape, after a step for each of some whole numbers.

        step : from a number and the state to the new state.
        """

        def go_on(at: Value, state: Value) -> tuple[Value, Value]:
            return at.graph.add("Identity", np.array(True)), step(numbers.then("Gather", at), state)

        return self._loop(numbers.then("Size"), go_on, [state], shape)[0]

    def _loop(
        self, most: Operand, step: Callable[..., tuple["Value", ...]], states: Sequence["Value"], shape: Sequence[Any]
    ) -> list["Value"]:
        """As `loop`, but the step is given its number first."""
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
    """A tensor that a graph computes. What two values give belongs to the inner one of their graphs."""

    def __init__(self, name: str, graph: Graph) -> None:
        self.name, self.graph = name, graph

    def then(self, operator: str, *others: Operand, **attributes: Any) -> "Value":
        """The output of a node whose first input this is."""
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
        """Sums over an axis, which is dropped."""
        return self.then("ReduceSum", np.array([axis]), keepdims=0)

    def cast(self, kind: int) -> "Value":
        return self.then("Cast", to=kind)


class Table:
    """Rows that are kept in single precision or not, and taken as doubles."""

    def __init__(self, content: Value, single: bool) -> None:
        self.content, self.single = content, single

    @classmethod
    def of(cls, rows: NDArray[np.float64], graph: Graph, single: bool = False) -> "Table":
        return cls(graph.constant(rows.astype(np.float32) if single else rows), single)

    def rows(self, at: Value) -> Value:
        """Rows by their numbers."""
        return self._doubles(self.content.then("Gather", at))

    def entries(self, at: Value) -> Value:
        """For each entry of a row, from the row of its own number (J, R)."""
        return self._doubles(self.content.then("GatherElements", at, axis=0))

    def above(self, others: Sequence["Table"]) -> "Table":
        """This table and others under it."""
        return Table(self.content.then("Concat", *(other.content for other in others), axis=0), self.single)

    def _doubles(self, taken: Value) -> Value:
        return taken.cast(TensorProto.DOUBLE) if self.single else taken
