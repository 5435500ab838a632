"""Node groups written as expressions: values with operators, frames, repeat zones, and a layout that can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import bpy

from .layout import lay_out

# What nodes that read and store attributes call a socket's type
ATTRIBUTE_TYPES = {
    "VALUE": "FLOAT",
    "INT": "INT",
    "BOOLEAN": "BOOLEAN",
    "VECTOR": "FLOAT_VECTOR",
    "MATRIX": "FLOAT4X4",
    "ROTATION": "QUATERNION",
    "RGBA": "FLOAT_COLOR",
}

# Classes of a group's own sockets, by their type
SOCKETS = {
    "VALUE": "NodeSocketFloat",
    "INT": "NodeSocketInt",
    "BOOLEAN": "NodeSocketBool",
    "STRING": "NodeSocketString",
    "OBJECT": "NodeSocketObject",
    "MATRIX": "NodeSocketMatrix",
    "VECTOR": "NodeSocketVector",
    "GEOMETRY": "NodeSocketGeometry",
}

# Nodes that hold a group, by the kind of tree they are in
GROUP_NODES = {"GeometryNodeTree": "GeometryNodeGroup", "ShaderNodeTree": "ShaderNodeGroup"}

# Begins the name of a group that Blender leaves out of the menus of node editors
HIDDEN = "."


@dataclass(frozen=True)
class Value:
    """An output socket, with the operators of its type. Plain numbers and tuples stand for constants.

    `+ - *` and `/` are those of numbers and, component by component, vectors; a vector times a number scales. `@`
    multiplies matrices. `< > & | ~` give booleans.
    """

    graph: Graph
    socket: Any

    @property
    def kind(self) -> str:
        """Type of the socket, such as "VECTOR"."""
        return self.socket.type

    def named(self, name: str) -> Value:
        """Name the node of this value, so that it can be found later."""
        self.socket.node.name = name
        return self

    def _arithmetic(self, operation: str, *others: Any) -> Value:
        kind = "VECTOR" if "VECTOR" in (self.kind, *(getattr(other, "kind", "") for other in others)) else "VALUE"
        node = "ShaderNodeVectorMath" if kind == "VECTOR" else "ShaderNodeMath"
        return self.graph.add(node, self, *others, operation=operation)

    def __add__(self, other: Any) -> Value:
        return self._arithmetic("ADD", other)

    def __sub__(self, other: Any) -> Value:
        return self._arithmetic("SUBTRACT", other)

    def __rsub__(self, other: float) -> Value:
        return self.graph.add("ShaderNodeMath", other, self, operation="SUBTRACT")

    def __mul__(self, other: Any) -> Value:
        if self.kind == "VECTOR" and getattr(other, "kind", "VALUE") != "VECTOR":
            return self.graph.add("ShaderNodeVectorMath", self, other, operation="SCALE")
        return self._arithmetic("MULTIPLY", other)

    def __truediv__(self, other: Any) -> Value:
        return self._arithmetic("DIVIDE", other)

    def __rtruediv__(self, other: float) -> Value:
        return self.graph.add("ShaderNodeMath", other, self, operation="DIVIDE")

    def __matmul__(self, other: Value) -> Value:
        return self.graph.add("FunctionNodeMatrixMultiply", self, other)

    def _compare(self, operation: str, other: Any) -> Value:
        data_type = "INT" if self.kind == "INT" else "FLOAT"
        return self.graph.add("FunctionNodeCompare", self, other, data_type=data_type, operation=operation)

    def __lt__(self, other: Any) -> Value:
        return self._compare("LESS_THAN", other)

    def __gt__(self, other: Any) -> Value:
        return self._compare("GREATER_THAN", other)

    def equals(self, other: float, epsilon: float) -> Value:
        """Whether a number equals another, or is no farther from it than `epsilon`."""
        return self.graph.add("FunctionNodeCompare", self, other, epsilon, data_type="FLOAT", operation="EQUAL")

    def __and__(self, other: Value) -> Value:
        return self.graph.add("FunctionNodeBooleanMath", self, other, operation="AND")

    def __or__(self, other: Value) -> Value:
        return self.graph.add("FunctionNodeBooleanMath", self, other, operation="OR")

    def __invert__(self) -> Value:
        return self.graph.add("FunctionNodeBooleanMath", self, operation="NOT")

    def times_plus(self, factor: Any, addend: Any) -> Value:
        """`self * factor + addend` in one node; a vector may be multiplied by a number."""
        return self._arithmetic("MULTIPLY_ADD", factor, addend)

    def maximum(self, other: Any) -> Value:
        return self._arithmetic("MAXIMUM", other)

    def minimum(self, other: Any) -> Value:
        return self._arithmetic("MINIMUM", other)

    def clamped(self) -> Value:
        """A number, from 0 to 1."""
        return self.graph.add("ShaderNodeClamp", self)

    def absolute(self) -> Value:
        return self._arithmetic("ABSOLUTE")

    def distance(self, other: Value) -> Value:
        return self.graph.add("ShaderNodeVectorMath", self, other, operation="DISTANCE")

    def normalized(self) -> Value:
        """A vector of length 1; a zero vector stays so."""
        return self.graph.add("ShaderNodeVectorMath", self, operation="NORMALIZE")

    def dot(self, other: Value) -> Value:
        return self.graph.add("ShaderNodeVectorMath", self, other, operation="DOT_PRODUCT")

    def cross(self, other: Value) -> Value:
        return self.graph.add("ShaderNodeVectorMath", self, other, operation="CROSS_PRODUCT")

    def length(self) -> Value:
        return self.graph.add("ShaderNodeVectorMath", self, operation="LENGTH")

    def components(self) -> tuple[Value, ...]:
        """x, y and z of a vector; w, x, y and z of a rotation; the columns' entries, 16, of a matrix."""
        node = {
            "VECTOR": "ShaderNodeSeparateXYZ",
            "ROTATION": "FunctionNodeRotationToQuaternion",
            "MATRIX": "FunctionNodeSeparateMatrix",
        }[self.kind]
        return self.graph.outputs(node, self)

    def columns(self) -> tuple[Value, Value, Value]:
        """The columns of a matrix as vectors, without the translation."""
        x, y, z = (self.rotate(axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
        return x, y, z

    def inverted(self) -> Value:
        return self.graph.add("FunctionNodeInvertMatrix", self)

    def move(self, point: Any) -> Value:
        """A point, moved by this matrix."""
        return self.graph.add("FunctionNodeTransformPoint", point, self)

    def rotate(self, vector: Any) -> Value:
        """A vector, rotated and scaled by this matrix but not moved."""
        return self.graph.add("FunctionNodeTransformDirection", vector, self)


class Graph:
    """A node group while it is built.

    Parameters
    ----------
    name : str
        Of the new group.
    kind : str
        "GeometryNodeTree" or "ShaderNodeTree".
    """

    def __init__(self, name: str, kind: str = "GeometryNodeTree") -> None:
        self.tree: Any = cast(Any, bpy.data.node_groups).new(HIDDEN + name, kind)
        self._frame: Any = None
        self._attributes: dict[tuple, Value] = {}
        self._inputs: Any = None
        self._frame_inputs: dict[str, Any] = {}
        self._sources: dict[str, list[str]] = {}
        """Names of the nodes that each node is linked from."""

    def input(self, name: str, kind: str, description: str = "") -> Value:
        """Add an input to the group; all of them come before the first node."""
        socket = self.tree.interface.new_socket(name, in_out="INPUT", socket_type=SOCKETS[kind])
        socket.description = description
        if self._inputs is None:
            self._inputs = self.tree.nodes.new("NodeGroupInput")
        return Value(self, self._inputs.outputs[name])

    def output(self, name: str, value: Value) -> None:
        """Add an output to the group."""
        self.tree.interface.new_socket(name, in_out="OUTPUT", socket_type=SOCKETS[value.kind])
        outputs = next((node for node in self.tree.nodes if node.bl_idname == "NodeGroupOutput"), None)
        outputs = outputs or self.tree.nodes.new("NodeGroupOutput")
        self.put(outputs.inputs[name], value)

    @contextmanager
    def frame(self, label: str) -> Iterator[None]:
        """Put the nodes added meanwhile into a frame."""
        self._frame = self.tree.nodes.new("NodeFrame")
        self._frame.label = label
        self._attributes.clear()
        yield
        self._frame = None

    def new_node(self, kind: str, **settings: Any) -> Any:
        """Add a node without inputs."""
        node = self.tree.nodes.new(kind)
        node.parent = self._frame
        for name, value in settings.items():
            if getattr(node, name) != value:  # setting it has Blender look at the whole tree
                setattr(node, name, value)
        return node

    def outputs(self, kind: str, *inputs: Any, **settings: Any) -> tuple[Value, ...]:
        """Add a node; `inputs` in the order of those that its settings leave in use, None to keep a default."""
        node = self.new_node(kind, **settings)
        sockets = [socket for socket in node.inputs if socket.enabled]
        for socket, value in zip(sockets, inputs, strict=False):
            if value is not None:
                self.put(socket, value)
        return tuple(Value(self, socket) for socket in node.outputs if socket.enabled)

    def add(self, kind: str, *inputs: Any, **settings: Any) -> Value:
        """Add a node and give its first output."""
        return self.outputs(kind, *inputs, **settings)[0]

    def call(self, group: Any, **inputs: Any) -> dict[str, Value]:
        """Add a node for another group, its inputs by their names with spaces written as `_`: its outputs by name."""
        node = self.new_node(GROUP_NODES[self.tree.bl_idname], node_tree=group, label=group.name, width=280)
        for name, value in inputs.items():
            self.put(node.inputs[name.replace("_", " ")], value)
        return {socket.name: Value(self, socket) for socket in node.outputs}

    def put(self, socket: Any, value: Any) -> None:
        """Link a value to an input, or set a constant."""
        if isinstance(value, Value):
            source = value.socket if value.socket.node != self._inputs else self._near_input(value.socket)
            self.tree.links.new(source, socket)
            self._sources.setdefault(socket.node.name, []).append(source.node.name)
            return
        if socket.type == "VECTOR":
            value = (value, value, value) if isinstance(value, int | float) else tuple(value)
            is_default = tuple(socket.default_value) == value
        else:
            is_default = socket.default_value == value
        if not is_default:  # setting it has Blender look at the whole tree
            socket.default_value = value

    def _near_input(self, socket: Any) -> Any:
        """The input of the group at a node in this frame, which saves a long link."""
        if self._frame is None:
            return socket
        if self._frame.name not in self._frame_inputs:
            self._frame_inputs[self._frame.name] = self.new_node("NodeGroupInput")
        return self._frame_inputs[self._frame.name].outputs[socket.name]

    def attribute(self, name: str | Value, data_type: str) -> Value:
        """Read a named attribute of the geometry that the field is evaluated on; nothing there reads as zero."""
        key = (name, data_type) if isinstance(name, str) else None
        if key not in self._attributes:
            value = self.add("GeometryNodeInputNamedAttribute", name, data_type=data_type)
            if key is None:
                return value
            self._attributes[key] = value
        return self._attributes[key]

    def store(self, geometry: Value, domain: str = "POINT", /, **attributes: Value) -> Value:
        """Store attributes on points or edges."""
        for name, value in attributes.items():
            settings = {"data_type": ATTRIBUTE_TYPES[value.kind], "domain": domain, "label": name}
            geometry = self.add("GeometryNodeStoreNamedAttribute", geometry, None, name, value, **settings)
        return geometry

    def sample(self, geometry: Value, value: Value, index: Any, domain: str = "POINT") -> Value:
        """The value at another point or edge of a geometry; zero if there is none of that index."""
        data_type = ATTRIBUTE_TYPES[value.kind]
        return self.add("GeometryNodeSampleIndex", geometry, value, index, data_type=data_type, domain=domain)

    def at_index(self, value: Value, index: Value) -> Value:
        """The value at another point of the geometry that a field is computed for."""
        node = self.new_node("GeometryNodeFieldAtIndex", data_type=ATTRIBUTE_TYPES[value.kind])
        self.put(node.inputs["Index"], index)
        self.put(node.inputs["Value"], value)
        return Value(self, node.outputs[0])

    def capture(self, geometry: Value, domain: str, /, **values: Value) -> tuple[Value, dict[str, Value]]:
        """Compute values on points or edges, in one pass: the geometry that holds them, and the captured values."""
        node = self.new_node("GeometryNodeCaptureAttribute", domain=domain)
        for name, value in values.items():
            node.capture_items.new("FLOAT" if value.kind == "VALUE" else value.kind, name)
        self.put(node.inputs["Geometry"], geometry)
        for name, value in values.items():
            self.put(node.inputs[name], value)
        return Value(self, node.outputs["Geometry"]), {name: Value(self, node.outputs[name]) for name in values}

    def switch(self, condition: Value, false: Any, true: Any) -> Value:
        """One of two values; if the condition is a single value, the other is not computed."""
        kind = next((value.kind for value in (true, false) if isinstance(value, Value)), "VALUE")
        input_type = "FLOAT" if kind == "VALUE" else kind
        return self.add("GeometryNodeSwitch", condition, false, true, input_type=input_type)

    def choose(self, number: Value, values: Sequence[Value]) -> Value:
        """One of several values by its number, from 1 on; zero for the number 0."""
        kind = "FLOAT" if values[0].kind == "VALUE" else values[0].kind
        node = self.new_node("GeometryNodeIndexSwitch", data_type=kind)
        while len(node.index_switch_items) <= len(values):
            node.index_switch_items.new()
        for socket, value in zip(node.inputs, (number, None, *values), strict=False):
            if value is not None:
                self.put(socket, value)
        return Value(self, node.outputs[0])

    def extremes(self, geometry: Value, value: Value) -> tuple[Value, Value]:
        """Least and largest value over the points."""
        outputs = self.outputs("GeometryNodeAttributeStatistic", geometry, None, value)
        return outputs[3], outputs[4]

    def is_any(self, geometry: Value, condition: Value) -> Value:
        """Whether a condition holds for any point: a single value."""
        mean, *_ = self.outputs("GeometryNodeAttributeStatistic", geometry, None, condition)  # the others take sorting
        return mean > 0.0

    def matrix(self, *columns: Value) -> Value:
        """A matrix of three columns, and perhaps a fourth, the translation."""
        entries: list[Any] = []
        for column in columns:
            entries += [*column.components(), None]
        return self.add("FunctionNodeCombineMatrix", *entries)

    def number(self, value: float) -> Value:
        """A constant."""
        node = self.new_node("ShaderNodeValue")
        node.outputs[0].default_value = value
        return Value(self, node.outputs[0])

    def integer(self, value: int) -> Value:
        """A constant whole number."""
        node = self.new_node("FunctionNodeInputInt")
        node.integer = value
        return Value(self, node.outputs[0])

    def smoothstep(self, value: Value) -> Value:
        """0 up to 0, 1 from 1 on, smooth between."""
        share = value.clamped()
        return share * share * (3.0 - share * 2.0)

    def truth(self) -> Value:
        """True, as a constant."""
        return self.add("FunctionNodeInputBool", boolean=True)

    def vector(self, *components: Any) -> Value:
        """A vector of three numbers."""
        return self.add("ShaderNodeCombineXYZ", *components)

    def repeat(self, iterations: Any, **start: Value) -> Zone:
        """Open a repeat zone over values that change from step to step."""
        return Zone(self, iterations, start)

    def finish(self) -> Any:
        """Lay the nodes out and give the group."""
        for node in self._frame_inputs.values():
            for socket in node.outputs:
                socket.hide = not socket.is_linked
        if self._inputs is not None and not any(socket.is_linked for socket in self._inputs.outputs):
            self.tree.nodes.remove(self._inputs)
        lay_out(self.tree, self._sources)
        return self.tree


class Zone:
    """A repeat zone: read its values by name, end it with `close`, which gives them after the last step."""

    def __init__(self, graph: Graph, iterations: Any, start: dict[str, Value]) -> None:
        self._graph = graph
        head, self._tail = graph.new_node("GeometryNodeRepeatInput"), graph.new_node("GeometryNodeRepeatOutput")
        head.pair_with_output(self._tail)
        self._tail.repeat_items.clear()
        for name, value in start.items():
            self._tail.repeat_items.new("FLOAT" if value.kind == "VALUE" else value.kind, name)
        graph.put(head.inputs["Iterations"], iterations)
        for name, value in start.items():
            graph.put(head.inputs[name], value)
        self._values = {name: Value(graph, head.outputs[name]) for name in start}

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def close(self, **values: Value) -> dict[str, Value]:
        """End the step with new values, and give those after the last step."""
        for name, value in values.items():
            self._graph.put(self._tail.inputs[name], value)
        return {name: Value(self._graph, self._tail.outputs[name]) for name in values}
