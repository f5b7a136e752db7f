"""Dialogue -> memories. Every miner reads the past only and names the turns that it drew on."""
