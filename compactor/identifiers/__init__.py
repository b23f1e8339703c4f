"""Identifiers in text: what can be found without a model, and whether a text names one.

`find` says what stands in a text, `forms` whether another spelling is the same, and `secret_lines`
which lines of a text nothing may be taken from.
"""
