"""Skin patterns on an object.

`edit` adds, removes and mirrors patterns, `placing` moves them, `write.update` shows them as their settings are, `maps`
writes height maps, and `library` and `assets` hold the patterns that can be added. Behind them, `read` reads settings,
`spots` finds positions on a body, and `compression` and `depths` measure the skin.
"""
