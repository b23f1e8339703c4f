"""The engine that needs no model: a hand-off made of extracts of the conversation."""

from compactor.digest.summarizer import DigestSummarizer

__all__ = ["DigestSummarizer"]
