"""What there is in the Supple tab: its lines, buttons, settings and panels, counted without a window."""

from __future__ import annotations

from types import SimpleNamespace

import bpy

import panels
from supple.settings.checks import check_settings
from supple.settings.objects import settings_of

CLOSED = "DEFAULT_CLOSED"


class Counter:
    """Stands in for a layout: counts lines of what is drawn, and collects buttons and settings.

    A row is one line, whatever is in it; a list has a line for each of its rows.
    """

    alert = enabled = active = use_property_split = use_property_decorate = False
    alignment, operator_context, scale_y, ui_units_x = "EXPAND", "", 1.0, 0

    def __init__(self, found: Counted, is_row: bool = False) -> None:
        self.found, self.is_row, self.has_line = found, is_row, False

    def _line(self, lines: int = 1) -> None:
        if not self.is_row:
            self.found.lines += lines
        elif not self.has_line:
            self.found.lines += lines
            self.has_line = True

    def _nested(self, is_row: bool) -> Counter:
        if self.is_row:  # what is in a row shares its line
            self._line()
            inner = Counter(self.found, True)
            inner.has_line = True
            return inner
        return Counter(self.found, is_row)

    def row(self, **_options) -> Counter:
        return self._nested(True)

    split = row

    def column(self, **_options) -> Counter:
        return self._nested(False)

    box = column

    def label(self, **_options) -> None:
        self._line()

    def separator(self, **_options) -> None:
        pass

    def prop(self, _owner, name: str, **_options) -> None:
        self._line()
        self.found.settings.append(name)

    def prop_search(self, _owner, name: str, *_others, **_options) -> None:
        self.prop(_owner, name)

    def template_icon_view(self, _owner, name: str, scale: float = 6.0, **_options) -> None:
        self._line(round(scale))
        self.found.settings.append(name)

    def template_list(self, kind: str, _id: str, data, name: str, *_others, rows: int = 5, **_options) -> None:
        self._line(rows)
        cls, item = getattr(bpy.types, kind), next(iter(getattr(data, name)), None)
        if item is None:
            return
        counted = Counted()
        drawn = type("Drawn", (), {key: value for key, value in vars(cls).items() if callable(value)})()
        drawn.draw_row(panels.Sidebar(), Counter(counted), item, 0)
        self.found.buttons += counted.buttons
        self.found.settings += counted.settings

    def operator(self, name: str, **_options):
        self._line()
        self.found.buttons.append(name)
        return SimpleNamespace()

    def operator_menu_enum(self, name: str, _property: str, **_options) -> None:
        self.operator(name)

    def menu(self, name: str, **_options) -> None:
        self.operator(name)

    def popover(self, panel: str, **_options) -> None:
        self.operator(panel)


class Counted:
    """What was found: lines, names of operators and menus, and of properties; `marks` are buttons of headers."""

    def __init__(self) -> None:
        self.lines, self.panels = 0, 0
        self.buttons: list[str] = []
        self.settings: list[str] = []
        self.marks: list[str] = []


def list_panels() -> list[type]:
    """All panels of the tab, and what opens from its buttons."""
    found = [getattr(bpy.types, name) for name in dir(bpy.types) if name.startswith("VIEW3D_PT_supple")]
    return sorted(found, key=lambda panel: getattr(panel, "bl_order", 0))


def draw(panel: type, found: Counted) -> bool:
    """Draw a panel, unless it is not to be seen; whether it is."""
    context = panels.Sidebar()
    if hasattr(panel, "poll") and not panel.poll(context):
        return False
    own = [vars(cls) for cls in reversed(panel.__mro__) if "supple" in cls.__module__]
    functions = {key: value for part in own for key, value in part.items() if callable(value)}
    type("Drawn", (), functions | {"layout": Counter(found)})().draw(context)
    return True


def count_all() -> Counted:
    """The whole tab, with everything open that the active object has; each setting and panel once."""
    found, manager = Counted(), bpy.context.window_manager
    check_settings(bpy.context).is_open = True
    for number, part in enumerate(manager.bl_rna.properties["supple_pattern_part"].enum_items.keys()):
        manager.supple_pattern_part = part
        again = Counted()
        seen = sum([draw(panel, again) for panel in list_panels()])
        found.settings = list(dict.fromkeys([*found.settings, *again.settings]))
        if number == 0:
            found.panels, found.buttons = seen, again.buttons
    check_settings(bpy.context).is_open = False
    return found


def count_first_sight() -> int:
    """Lines of what is open by itself; a header is a line."""
    lines, tab = 0, list_panels()
    closed = {panel.__name__ for panel in tab if CLOSED in getattr(panel, "bl_options", set())}
    for panel in tab:
        if panel.bl_region_type != "UI" or getattr(panel, "bl_parent_id", "") in closed:
            continue
        own = Counted()
        if not draw(panel, own):
            continue
        lines += 1 + (0 if panel.__name__ in closed else own.lines)
    return lines


def fill() -> None:
    """Give a character all that panels show: a pattern, a correction, faults, transitions."""
    obj = bpy.context.active_object
    armature = obj.find_armature()
    bpy.ops.supple.bind(whole=True)
    bpy.ops.supple.pattern_add(preset="BULGE_GENTLE", bone=armature.data.bones[-1].name)
    obj.shape_key_add(name="Basis")
    settings_of(obj).corrections.add().name = obj.shape_key_add(name="Bent").name
    settings = check_settings(bpy.context)
    settings.armature = armature.name
    line = settings.findings.add()
    line.mesh, line.text, line.details, line.key, line.can_fix = obj.name, "fault", "fault", "key", True
    motion = bpy.context.scene.supple_motion
    action = bpy.data.actions.new("Act")
    armature.animation_data_create().action = action
    bone = armature.pose.bones[-1]
    bone.keyframe_insert("rotation_quaternion", frame=1)
    motion.armature, motion.compared_first, motion.compared_second = armature.name, action.name, action.name
    motion.transitions.add()
    settings_of(obj).is_ticked = True
