"""Features that a character has been given: `feature` names their stages, and `engine` takes any of them through these.

`reads` remembers what was computed from data-blocks until one of them changes.
"""
