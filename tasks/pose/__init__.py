"""Pose an armature by dragging its skin, or the end of a chain."""
