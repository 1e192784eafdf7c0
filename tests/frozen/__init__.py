"""What is kept so that a change of structure cannot change a byte or a verdict unnoticed; `make freeze` writes it."""
