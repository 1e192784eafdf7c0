"""Tests of jobs/."""
