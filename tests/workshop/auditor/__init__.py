"""Tests of the auditor."""
