"""PostgreSQL: the only package that knows the driver. Domain code sees ``Database`` and ``Connection`` and named queries."""
