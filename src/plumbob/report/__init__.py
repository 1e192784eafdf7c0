"""A run record as a page that people can look at; nothing is measured here."""
