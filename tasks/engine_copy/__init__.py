"""A copy of a character for game engines. `run` is the entrance: `make_engine_copy`.

`examples` has what the copy shall look like; `copy` makes it of what was fitted, `export` writes it, `reimport`
measures what was written, `report` says so in words.
"""
