"""The canonical polyadic decomposition (CPD): factors, cells, values and penalties."""
