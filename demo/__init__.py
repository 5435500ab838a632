"""The demonstration: an arm built in code, posed past what linear skinning bears by four methods, and measured."""
