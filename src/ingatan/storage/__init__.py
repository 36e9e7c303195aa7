"""PostgreSQL. No other package knows the driver; they see ``Database`` and ``Connection`` and named queries."""
