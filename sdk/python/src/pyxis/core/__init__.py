"""The part without I/O: requests, responses, and decisions to repeat. Private to this package."""
