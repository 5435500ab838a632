"""Compare actions frame by frame, close them to loops, and join them."""
