"""The demonstration: an arm built in code, posed farther than linear skinning can take, by four methods; measured."""
