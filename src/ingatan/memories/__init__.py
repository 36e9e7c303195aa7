"""What may be remembered, and what is."""
