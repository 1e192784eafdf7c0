"""One organisation's side on a network: its folder, its peers, and what it does with them."""
