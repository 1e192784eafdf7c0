"""Pages that compare runs: defences side by side, the demo's ways, the paper."""
