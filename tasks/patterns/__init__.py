"""Skin patterns on an object.

The doors: `edit` adds, removes and mirrors patterns, `placing` moves them and lays them along strokes, `show.update`
brings Blender to what the settings say, `maps` writes height maps, `library` holds what can be added. Behind them:
`meaning` and `layout` read the settings, `node_setup` and `compression` write nodes.
"""
