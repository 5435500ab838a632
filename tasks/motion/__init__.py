"""Compare actions frame by frame, close them to loops, and join them.

`compare`, `loop` and `join` are the entrances; their steps take turns with Blender's window. `reading` reads actions as
channels and points, `layout` says which channels, `placing` moves a whole motion, `holding` keeps planted feet where
they are, `writing` makes the new action and its strip, `report` says what came of it.
"""
