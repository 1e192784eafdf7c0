"""The lab: what it lets in, what it answers, and what a person sees of it."""
