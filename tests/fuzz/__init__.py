"""Any bytes at all, and any order of events: whatever a peer sends, the worst that happens is a PlumbobError."""
