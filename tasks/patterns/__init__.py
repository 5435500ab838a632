"""Skin patterns on an object.

`edit` adds, removes and mirrors, `display.update` shows what the settings say, `hits` finds what lies under the
mouse, `maps` draws files. Behind them stand `read`, `placing`, `library` and `nodes`.
"""
