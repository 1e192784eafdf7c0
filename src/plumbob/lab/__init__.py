"""The lab: simulation, attacks, audit, the paper and the demo, none of which a party needs beside its keys."""
