"""What is remembered about a person: how it is proposed, decided, kept and recalled."""
