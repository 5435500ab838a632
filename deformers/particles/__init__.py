"""Particle skinning: the body as a solid filled with particles.

`particles` is the method, `particles_2010` the one that was published. Behind the first stand `fill`, `cloud`,
`settling`, `volumes` and `attachments`; behind the second `fill_2010` and `forces_2010`.
"""
