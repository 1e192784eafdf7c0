"""One organisation's side on a network: its folder, its peers, and its part in a conversation."""
