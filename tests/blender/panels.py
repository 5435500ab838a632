"""What Supple's panels show, without a window."""

from __future__ import annotations

from types import SimpleNamespace

import bpy


class Recorder:
    """Stands in for a layout: takes any call and setting, and records the texts and property names."""

    enabled = True

    def __init__(self, shown: list[str], disabled: list[str] | None = None) -> None:
        self.shown, self.disabled = shown, [] if disabled is None else disabled

    def _part(self, *_arguments, **_options) -> Recorder:
        return Recorder(self.shown, self.disabled)

    row = column = box = split = template_list = template_icon_view = separator = menu = menu_pie = popover = _part

    def operator_menu_enum(self, name: str, prop: str, **_options) -> None:
        self.shown.append(f"{name}: {prop}")

    def label(self, text: str = "", **_options) -> None:
        self.shown.append(text)

    def prop(self, owner, name: str, **_options) -> None:
        assert name in owner.bl_rna.properties
        self.shown.append(name)
        if not self.enabled:
            self.disabled.append(name)

    def prop_menu_enum(self, owner, name: str, **_options) -> None:
        self.prop(owner, name)

    def prop_search(self, owner, name: str, holder, collection: str, **_options) -> None:
        assert collection in holder.bl_rna.properties
        self.prop(owner, name)

    def operator_enum(self, name: str, prop: str, **_options) -> None:
        self.shown.append(f"{name}: {prop}")

    def operator(self, name: str, **_options) -> bpy.types.OperatorProperties | None:
        self.shown.append(name)
        return type("Properties", (), {})()


class Sidebar:
    """The context of a panel: with what there is only in a window, wide enough for messages of one line."""

    region = SimpleNamespace(width=2000)
    preferences = SimpleNamespace(
        system=SimpleNamespace(ui_scale=1.0), ui_styles=[SimpleNamespace(widget=SimpleNamespace(points=11.0))]
    )

    def __getattr__(self, name: str):
        return getattr(bpy.context, name)


def draw(name: str, disabled: list[str] | None = None, **more) -> list[str]:
    """What a panel shows, in order; nothing where it is not to be seen.

    The properties that it shows and that cannot be changed are added to `disabled`. What only some editors have in
    their context is in `more`.
    """
    panel, shown, context = getattr(bpy.types, name), [], Sidebar()
    vars(context).update(more)
    if hasattr(panel, "poll") and not panel.poll(context):
        return shown
    own = [vars(cls) for cls in reversed(panel.__mro__) if "supple" in cls.__module__]
    functions = {key: value for part in own for key, value in part.items() if callable(value)}
    drawn = type("Drawn", (), functions | {"layout": Recorder(shown, disabled)})()
    drawn.draw(context)
    return shown


def draw_all() -> None:
    """Draw all panels of the sidebar."""
    for name in dir(bpy.types):
        if name.startswith("VIEW3D_PT_supple_"):
            draw(name)


def draw_dialog(name: str, **properties) -> list[str]:
    """What the dialog of an operator shows, in order, with these properties."""
    operator, shown = getattr(bpy.types, name), []
    own = [vars(cls) for cls in reversed(operator.__mro__) if "supple" in cls.__module__]
    values = {key: value for part in own for key, value in part.items() if not key.startswith("__")}
    kind = getattr(bpy.ops.supple, operator.bl_idname.partition(".")[2] or name.partition("_OT_")[2]).get_rna_type()
    given = {"is_asking": True, "layout": Recorder(shown), "bl_rna": kind, "properties": SimpleNamespace(bl_rna=kind)}
    type("Drawn", (), values | given | properties)().draw(bpy.context)
    return shown
