"""What is remembered: proposed by extraction, decided by policy, kept by the registry, brought back by recall."""
