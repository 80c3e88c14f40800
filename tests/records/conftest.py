"""Imports the oracles: kafka-python warns while it is imported, and a warning is an error here."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import aiokafka  # noqa: F401
    import kafka  # noqa: F401
