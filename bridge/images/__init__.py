"""Images, materials and pictures."""
