"""What the smoke tests are made of: namespaces, the daemon, an SMF, a gNB, and judges.

Nothing here knows Sluice's own codecs: PFCP is spoken by scapy, GTP-U by a few bytes written out
in gtpu.py, and both are judged by tshark.
"""
