"""Shape keys that correct a pose: `inverses` brings what was sculpted back to rest, `readers` says when it shows.

`joint_choice` finds the joint that something was sculpted at; `mirroring` and `rotations` carry a correction to the
other side.
"""
