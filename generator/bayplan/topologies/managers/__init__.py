"""Fabric managers (ibnetdiscover, UFM, NetQ, NMX), and how a fabric becomes nested levels."""
