"""Everything that a party does not need beside its keys: simulation, attacks, audit, the paper, the lab, the demo."""
