"""Distributed training: quality by partitions and their order, a real engine, memory, real data."""
