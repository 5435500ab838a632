"""What a user can choose for tasks: a frozen dataclass a task, whose fields are rows; see `deformers/option.py`.

An option is declared here, and used where the task reads it. `settings/properties.py` makes properties of the rows, for
settings and operators, `cli/options.py` arguments of the command line.
"""
