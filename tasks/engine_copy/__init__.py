"""A copy of a character for game engines. `run` is the entrance: `make_engine_copy`.

`source` is what `read` reads and `plan` fits; `write` makes the copy, `export` its file, which it measures; `copies`
finds copies again.
"""
