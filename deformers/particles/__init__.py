"""Particle skinning: the body as a solid filled with particles.

`particles` is the method, and stands on `fill`, `cloud`, `settling`, `volumes` and `attachments`. `particles_2010` is
the published method, and stands on `fill_2010` and `forces_2010`.
"""
