"""Corrections: what is sculpted on a character in a pose becomes shape keys that its bones bring in.

`posed_copy` makes what is sculpted and takes it away again, `keep` turns it into keys, `keys` stores these.
"""
