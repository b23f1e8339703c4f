"""Identifiers in text: what can be found without a model, and whether a text names one.

`find` says what stands in a text, `forms` whether another spelling is the same.
"""
