"""Compare actions frame by frame, close them to loops, and join them.

`compare`, `loop` and `join` are the entrances; their steps take turns with Blender's window. `reading` reads actions as
channels and points, `layout` chooses the channels, `placing` moves a whole motion, `holding` keeps feet planted,
`report` describes the result.
"""
