"""A character checked: `run.prepare` reads it, `Check.run` measures its poses by several methods, `findings` tells."""
