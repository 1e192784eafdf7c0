"""Pages that compare runs: the defences side by side, the demo's ways, the paper."""
