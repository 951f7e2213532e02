"""A campaign of faults against the whole product, judged from outside: `python -m faults`."""
