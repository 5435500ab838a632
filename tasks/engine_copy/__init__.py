"""A copy of a character for game engines. `run` is the entrance: `make_engine_copy`.

`examples` has the target shapes; `copy` makes the copy from the fit, `export` writes it, `reimport` measures the file,
`report` describes it.
"""
