"""What the documentation says is so, and its site can be built and read without a network."""
