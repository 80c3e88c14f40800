"""Inkless: a Kafka-compatible broker whose only disk is object storage."""

__version__ = "0.1.0"
