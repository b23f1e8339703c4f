"""The background worker that compacts idle sessions."""
