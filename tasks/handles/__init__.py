"""Points and cages that carry skin, beside bones: empties and meshes with bones that follow them.

`add.add_handles` gives them bones, `remove.remove_handles` takes these back. Automatic weights then use what is there.
"""
