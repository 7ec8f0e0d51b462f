"""Distributed training: quality by partitions, order of partitions, wall time and overhead on a real engine, memory."""
