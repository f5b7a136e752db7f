"""Text -> pooled and token vectors. One file an encoder; ``cache`` wraps any of them, ``golden`` tells them apart."""
