"""Why a pattern is not seen, or not all of it, in words: what the panel says while nothing is wrong."""

from __future__ import annotations

import math

import bpy

from ...bridge.animation.drivers import DrivingJoint, read_angle
from ...deformers import SkinningError
from ...deformers.patterns.heights import Response, respond
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from .meaning import (
    check_driver,
    find_joint,
    has_angle,
    has_compression,
    has_depth,
    read_compression_response,
    read_response,
)
from .node_setup import is_displaced

AT_REST = math.radians(0.5)
"""Angle up to which a joint counts as at rest."""


def describe_visibility(obj: bpy.types.Object, pattern: PatternSettings, shading: str) -> list[str]:
    """Say why a pattern is not seen in full now; nothing where it is, or where its note says what is wrong.

    Parameters
    ----------
    pattern : PatternSettings
        One of its patterns.
    shading : str
        Of the 3D View: "SOLID", "WIREFRAME", ... .
    """
    if not pattern.show:
        return ["Hidden: enable it in the list"]
    try:
        check_driver(pattern)
        joint = find_joint(obj, pattern) if has_angle(pattern) else None
        response = read_response(pattern) if joint is not None else None
        if has_compression(pattern) or has_depth(pattern):
            read_compression_response(pattern)
    except SkinningError:
        return []
    hints = []
    if shading in ("SOLID", "WIREFRAME") and not is_displaced(settings_of(obj).pattern_display, pattern.kind):
        hints.append("Bumps do not show in Solid view: use Material Preview, or set Show As to Displacement")
    if settings_of(obj).pattern_full:
        return [*hints, "Shown in full in any pose"]
    if joint is not None and response is not None:
        hints += _describe_angle(joint, response)
    return [*hints, *_describe_compression(pattern)]


def _describe_compression(pattern: PatternSettings) -> list[str]:
    """Say where a pattern is seen that compression, stretch or depth brings out."""
    if not has_compression(pattern) and not has_depth(pattern):
        return []
    start, full = f"{pattern.compression_start:.0f} %", f"{pattern.compression_full:.0f} %"
    full = f"full at {full}" if pattern.law == "RANGE" else "more at higher values"
    if pattern.driver == "STRETCH":
        return [f"Shows where the skin is stretched, from {start} up, {full}"]
    if has_depth(pattern):
        return [f"Shows while the limb presses into the skin, from {start} of the pattern's smaller side up, {full}"]
    return [f"Shows where the skin is compressed, from {start} up, {full}"]


def _describe_angle(joint: DrivingJoint, response: Response) -> list[str]:
    """Say how far a joint is from where its pattern is seen in full."""
    if joint.armature.data.pose_position == "REST":
        return [f"'{joint.armature.name}' is in Rest Position: set it to Pose Position"]
    angle = read_angle(joint.armature, joint)
    toward = {"POSITIVE": angle, "NEGATIVE": -angle, "BOTH": abs(angle)}[response.direction]
    amount = float(respond(response, angle))
    full = f"full at {_degrees(response.full)}" if response.law == "RANGE" else "more at larger angles"
    if amount >= 1.0:
        return []
    if amount > 0.0:
        return [f"{round(100.0 * amount)} % shows, at {_degrees(toward)}: {full}"]
    bone = f"'{joint.chain[-1][0]}' to '{joint.bone}'" if joint.chain else f"'{joint.bone}'"
    begins = f"from {_degrees(response.start)} up, {full}"
    if abs(angle) < AT_REST:
        return [f"At rest: rotate {bone}. It shows {begins}"]
    return [f"At {_degrees(toward)} nothing shows yet: {begins}"]


def _degrees(angle: float) -> str:
    return f"{math.degrees(angle):.0f}°"
